package service

import (
	"errors"
	"net"
	"syscall"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// listenFault returns the error for an address that the service cannot listen on: what is
// wrong with it, and what to do.
func listenFault(address, setting string, err error) error {
	other := "or choose another address with the setting " + setting
	if setting == "listen" {
		other = "or choose another address with --listen or RAGD_LISTEN"
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.Precondition, "cannot listen on %s: another program listens there, perhaps another ragd: stop it, %s", address, other)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fault.New(fault.Precondition, "cannot listen on %s: no network interface of this machine has that address: use 0.0.0.0 for all interfaces, %s", address, other)
	case errors.Is(err, syscall.EACCES):
		return fault.New(fault.Precondition, "cannot listen on %s: the user who runs ragd may not use a port below 1024: give the program CAP_NET_BIND_SERVICE, %s", address, other)
	case errors.As(err, &dns):
		return fault.New(fault.Invalid, "%s: the host name in %q is not known", setting, address)
	}
	return fault.New(fault.Invalid, "%s: want an address such as 127.0.0.1:8484 or :8484, with a port up to 65535, got %q", setting, address)
}
