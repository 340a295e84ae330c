package engine

import "strings"

// updatedColumn is UPDATE(column) in a trigger: whether the statement names the column.
func (t *triggerState) updatedColumn(name string) bool {
	for i, c := range t.table.columns {
		if strings.EqualFold(c.name, name) {
			return t.updated[i]
		}
	}
	return false
}
