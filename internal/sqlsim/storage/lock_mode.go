package storage

// Mode is a lock mode as a set of the basic modes it is made of, so that SIX is
// S and IX, and a conversion is the union of what is held and what is wanted.
type Mode uint16

// The basic modes, and the composite ones that have names.
const (
	ModeIS Mode = 1 << iota
	ModeIU
	ModeIX
	ModeS
	ModeU
	ModeX
	ModeSchS
	ModeSchM
	rangeS // the range part of the key-range modes: the gap below the key
	rangeI
	rangeX

	ModeNone    Mode = 0
	ModeSIX          = ModeS | ModeIX
	ModeSIU          = ModeS | ModeIU
	ModeUIX          = ModeU | ModeIX
	ModeRangeSS      = rangeS | ModeS
	ModeRangeSU      = rangeS | ModeU
	ModeRangeIN      = rangeI
	ModeRangeXX      = rangeX | ModeX

	rangeParts = rangeS | rangeI | rangeX
)

// conflicts holds, for each basic mode, the basic modes that another owner may not hold.
var conflicts = map[Mode]Mode{
	ModeIS:   ModeX | ModeSchM,
	ModeIU:   ModeU | ModeX | ModeSchM,
	ModeIX:   ModeS | ModeU | ModeX | ModeSchM,
	ModeS:    ModeIX | ModeX | ModeSchM,
	ModeU:    ModeIU | ModeIX | ModeU | ModeX | ModeSchM,
	ModeX:    ModeIS | ModeIU | ModeIX | ModeS | ModeU | ModeX | ModeSchM,
	ModeSchS: ModeSchM,
	ModeSchM: ModeIS | ModeIU | ModeIX | ModeS | ModeU | ModeX | ModeSchS | ModeSchM,
	rangeS:   rangeI | rangeX,
	rangeI:   rangeS | rangeX,
	rangeX:   rangeS | rangeI | rangeX,
}

// conflictMask is conflicts for every combination of basic modes.
var conflictMask = func() (mask [1 << 11]Mode) {
	for m := range mask {
		for basic, against := range conflicts {
			if Mode(m)&basic != 0 {
				mask[m] |= against
			}
		}
	}
	return
}()

// Compatible reports whether two owners may hold a and b on one resource.
func Compatible(a, b Mode) bool { return conflictMask[a]&b == 0 }

// implied holds what each basic mode includes.
func (m Mode) closure() Mode {
	if m&ModeX != 0 {
		m |= ModeU | ModeS | ModeIX
	}
	if m&ModeU != 0 {
		m |= ModeS | ModeIU
	}
	if m&ModeS != 0 || m&ModeIU != 0 {
		m |= ModeIS
	}
	if m&ModeIX != 0 {
		m |= ModeIU | ModeIS
	}
	if m&ModeSchM != 0 {
		m |= ModeSchS
	}
	if m&rangeX != 0 {
		m |= rangeS | rangeI
	}
	return m
}

// Covers reports whether holding m already grants want.
func (m Mode) Covers(want Mode) bool { return m.closure()&want == want }

// String returns the name that sys.dm_tran_locks shows.
func (m Mode) String() string {
	key := ""
	switch c := m &^ rangeParts; {
	case c&ModeSchM != 0:
		key = "Sch-M"
	case c&ModeX != 0:
		key = "X"
	case c&ModeU != 0 && c&ModeIX != 0:
		key = "UIX"
	case c&ModeU != 0:
		key = "U"
	case c&ModeS != 0 && c&ModeIX != 0:
		key = "SIX"
	case c&ModeS != 0 && c&ModeIU != 0:
		key = "SIU"
	case c&ModeS != 0:
		key = "S"
	case c&ModeIX != 0:
		key = "IX"
	case c&ModeIU != 0:
		key = "IU"
	case c&ModeIS != 0:
		key = "IS"
	case c&ModeSchS != 0:
		key = "Sch-S"
	}
	if m&rangeParts == 0 {
		return key
	}
	if key == "" {
		key = "N"
	}
	switch {
	case m&rangeX != 0:
		return "RangeX-" + key
	case m&rangeI != 0:
		return "RangeI-" + key
	}
	return "RangeS-" + key
}

// ranged turns the mode of a row lock into its key-range form.
func (m Mode) ranged() Mode {
	switch {
	case m&ModeX != 0:
		return ModeRangeXX
	case m&ModeU != 0:
		return ModeRangeSU
	}
	return ModeRangeSS
}
