package engine

import "github.com/chokaq/chokaq/internal/sqlsim/value"

// The ERROR_* functions see the error of the innermost CATCH block, also in the
// procedures that it calls.
func init() {
	errorFunc := func(name string, typ value.Type, of func(e *value.Error) value.Value) {
		define(name, 0, 0, func(c *callSite) (*scalar, error) {
			if typ.Kind.IsCharacter() {
				typ.Collation = c.sc.collation()
			}
			return perStatement(c.lax(typ, func(rc *rowCtx, _ []value.Value) (value.Value, error) {
				caught := rc.sess.caught
				if len(caught) == 0 {
					return value.NewNull(typ.Kind), nil
				}
				return of(caught[len(caught)-1]), nil
			})), nil
		})
	}
	errorFunc("error_number", intType, func(e *value.Error) value.Value { return intValue(int64(e.Number)) })
	errorFunc("error_severity", intType, func(e *value.Error) value.Value { return intValue(int64(e.Class)) })
	errorFunc("error_state", intType, func(e *value.Error) value.Value { return intValue(int64(e.State)) })
	errorFunc("error_line", intType, func(e *value.Error) value.Value { return intValue(int64(e.Line)) })
	errorFunc("error_message", value.Type{Kind: value.NVarChar, Length: 4000}, func(e *value.Error) value.Value {
		return value.NewString(value.NVarChar, e.Message)
	})
	errorFunc("error_procedure", value.Type{Kind: value.NVarChar, Length: 128}, func(e *value.Error) value.Value {
		if e.Procedure == "" {
			return value.NewNull(value.NVarChar)
		}
		return value.NewString(value.NVarChar, e.Procedure)
	})
	define("xact_state", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(c.lax(value.Type{Kind: value.SmallInt}, func(rc *rowCtx, _ []value.Value) (value.Value, error) {
			return value.NewInt(value.SmallInt, rc.sess.xactState()), nil
		})), nil
	})
	define("current_transaction_id", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(c.lax(bigintType, func(rc *rowCtx, _ []value.Value) (value.Value, error) {
			tx, err := rc.sess.storeTxn(rc.ctx)
			if err != nil {
				return value.Value{}, err
			}
			return value.NewInt(value.BigInt, int64(tx.id())), nil
		})), nil
	})
}
