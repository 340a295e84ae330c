// Package clockhook lets this module's test helpers give a driver.Client another clock, without that being part of the driver's API.
package clockhook

import "github.com/chokaq/chokaq/internal/clock"

// Set gives a *driver.Client its clock, before it is used. The driver sets it.
var Set func(client any, c clock.Clock)
