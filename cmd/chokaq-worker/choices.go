package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// choice is a flag that narrows a list to the rows with a value in a column.
type choice struct {
	column, flag, value string
	accepted            []string // nil: anything
}

type choices []choice

// condition is a WHERE clause with its values.
type condition struct {
	text   string
	values []any
}

func (c *condition) and(text string, values ...any) {
	if c.text == "" {
		c.text = " WHERE " + text
	} else {
		c.text += " AND " + text
	}
	c.values = append(c.values, values...)
}

// where is the condition that the flags which were given make, on the columns of the view with this alias.
func (all choices) where(alias string) (condition, error) {
	var c condition
	for _, one := range all {
		if one.value == "" {
			continue
		}
		value := one.value
		if one.accepted != nil {
			i := slices.IndexFunc(one.accepted, func(accepted string) bool { return strings.EqualFold(accepted, value) })
			if i < 0 {
				return c, usageError{fmt.Errorf("%s: %q is not accepted; accepted: %s", one.flag, value, strings.Join(one.accepted, ", "))}
			}
			value = one.accepted[i]
		}
		c.and(alias+"."+one.column+" = @"+one.column, sql.Named(one.column, value))
	}
	return c, nil
}

func checkLimit(limit int) error {
	if limit < 0 {
		return usageError{errors.New("--limit: must be 0 (no limit) or more")}
	}
	return nil
}

// top is a limit as a clause; 0 is none.
func top(limit int) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("TOP (%d) ", limit)
}

// tellLimit says when a list may have been cut.
func tellLimit(to io.Writer, shown, limit int) error {
	if shown == 0 || shown != limit {
		return nil
	}
	_, err := fmt.Fprintf(to, "the first %d; --limit shows more\n", limit)
	return err
}
