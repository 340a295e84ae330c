package db

import (
	"errors"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

func TestAgentErrorsSayWhatToDo(t *testing.T) {
	for number, want := range map[int32]string{229: "sysadmin", 916: "sysadmin", 15247: "sysadmin", 40515: "CHOKAQ_RECOVERY_ENABLED"} {
		if got := agentError(mssql.Error{Number: number}); !strings.Contains(got.Error(), want) || !errors.As(got, new(mssql.Error)) {
			t.Errorf("error %d: %v", number, got)
		}
	}
	if plain := errors.New("x"); agentError(plain) != plain {
		t.Error("another error is not left as it is")
	}
}
