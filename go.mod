module github.com/chokaq/chokaq

go 1.26.0

require (
	github.com/tidwall/btree v1.8.2 // indirect
	golang.org/x/text v0.44.0 // indirect
)
