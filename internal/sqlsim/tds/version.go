package tds

// version of the protocol, as a client names it in its login.
type version uint32

const (
	version71 version = 0x71000001
	version72 version = 0x72090002
	version73 version = 0x730B0003
	version74 version = 0x74000004
	version80 version = 0x08000000
)

// negotiate is the version to use with a client that can do v; ok is false for clients older than 7.1.
func negotiate(v version) (version, bool) {
	switch {
	case v == version80:
		return version80, true
	case v >= version74:
		return version74, true
	case v >= 0x730A0003:
		return version73, true
	case v >= 0x72000000:
		return version72, true
	case v >= 0x71000000:
		return version71, true
	}
	return 0, false
}

// modern counts version 8.0, whose number is small, as the newest.
func (v version) modern() version {
	if v == version80 {
		return version74 + 1
	}
	return v
}

func (v version) atLeast(w version) bool { return v.modern() >= w }
