package service

import (
	"context"
	"path/filepath"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// asleepDir is the folder in the data directory of an embedded database that has the archives of tenants that are asleep.
const asleepDir = "asleep"

// newSleeps returns the service that puts tenants to sleep and wakes them.
func (s *Service) newSleeps(ctx context.Context, work *data.DB, archives *archive.Service, keys *seal.Keys) (*sleep.Service, error) {
	place := s.config.Sleep
	if place.Place == "" && s.database.embedded != nil {
		place.Place = filepath.Join(s.config.DataDir, asleepDir)
	}
	store, err := sleep.Open(place)
	if err != nil {
		return nil, err
	}
	sleeps, err := sleep.New(ctx, sleep.Config{
		Tenants: s.Tenants, Archives: archives, DB: work, Control: s.database.requests, Store: store, Keys: keys,
		After: s.config.SleepAfter, Keep: s.config.SleepKeep, Logger: s.log,
		FellAsleep: func(tenant.ID) { s.Credentials.Auth.Forget() },
		Woke:       func(id tenant.ID) { s.Events.Publish(event.Event{Tenant: id}) }, // what is cached of the tenant may be old
	})
	if err != nil {
		return nil, err
	}
	s.Tenants.BeforeErase(sleeps.Erase)
	s.Credentials.Auth.OnAsleep(sleeps.Asleep)
	return sleeps, nil
}
