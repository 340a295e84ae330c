package sqlsim

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/tds"
)

// backend lets the engine answer the wire.
type backend struct{ server *engine.Server }

func (b backend) Connect(ctx context.Context, login engine.Login) (tds.Session, error) {
	session, err := b.server.Connect(ctx, login)
	if err != nil {
		return nil, err // and not a nil *Session in a Session that is not nil
	}
	return session, nil
}
