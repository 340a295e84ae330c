package main

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünï 日本": "plain ünï 日本", "two\nlines\tand": "two lines and", "\x1b[31mred": "\uFFFD[31mred", "a\u202egnp.exe": "a\uFFFDgnp.exe", "\x00\u009b": "\uFFFD\uFFFD",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for seconds, want := range map[any]string{int64(0): "0s", int64(59): "59s", int64(61): "1m 01s", int64(3660): "1h 01m", int64(49 * 3600): "2d 01h", nil: ""} {
		if got := age(seconds); got != want {
			t.Errorf("%v: %q, want %q", seconds, got, want)
		}
	}
}
