package config

import (
	"fmt"
	"net"
	"strconv"
)

// CheckAdmin says what is wrong with the address of the admin port.
func (w Worker) CheckAdmin() error {
	if w.AdminAddr == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(w.AdminAddr)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(port, 10, 16)
		if err == nil && n == 0 && port != "0" {
			err = strconv.ErrRange
		}
	}
	if err == nil {
		return nil
	}
	for _, s := range settingsOf(&w) {
		if s.name == "ADMIN_ADDR" {
			return fmt.Errorf("%s: %q is not accepted; accepted: HOST:PORT or :PORT, with a port of 1 to 65535 (0: a free one)", s, w.AdminAddr)
		}
	}
	panic("ADMIN_ADDR is no setting")
}
