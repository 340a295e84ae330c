package main

import (
	"strings"
	"testing"
)

func TestALineMayBeginWithAByteOrderMark(t *testing.T) {
	if job, err := parseJobLine([]byte("\ufeff{\"type\": \"t\"}"), "q"); err != nil || job.Type != "t" {
		t.Errorf("%+v, %v", job, err)
	}
	if _, err := parseJobLine([]byte("nonsense"), "q"); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("no JSON: %v", err)
	}
}
