module github.com/chokaq/chokaq

go 1.26
