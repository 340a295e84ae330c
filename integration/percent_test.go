package integration

import (
	"database/sql"
	"strings"
	"testing"
)

// THROW reads a percent sign in its message as the beginning of a format: names that have one are told as they are, nevertheless.
func TestErrorsTellNamesWithPercentSigns(t *testing.T) {
	d := newDatabase(t)
	const name = "100%d 50%% %s%"
	_, err := query(t.Context(), d.pool, "chokaq.SetSetting", sql.Named("Name", name), sql.Named("Value", 1))
	if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
		t.Errorf("%v", err)
	}
	holder := begin(t, d)
	enqueueKey := func(q querier) error {
		_, err := query(t.Context(), q, "chokaq.EnqueueJob", sql.Named("Queue", "q"), sql.Named("JobType", name), sql.Named("IdempotencyKey", name+"k"))
		return err
	}
	if err := enqueueKey(holder); err != nil {
		t.Fatal(err)
	}
	if err := enqueueKey(impatient(t, d)); err == nil || !strings.Contains(err.Error(), `"`+name+`k"`) || !strings.Contains(err.Error(), `"`+name+`"`) {
		t.Errorf("%v", err)
	}
}
