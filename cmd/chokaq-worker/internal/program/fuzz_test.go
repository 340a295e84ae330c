package program

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
)

// Whatever follows --handler, it is a program or faults that name it; and written out again, it means the same.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		`send_email=sh -c 'a "b" c' d\ e`, "a[timeout=90s, safe-to-retry ,reject=65]=sh --x=y", "a = sh", "a[]=sh", `résumé.v2=sh '' "" x[y]=z`, "a=sh # no comment $HOME `x` *",
		"", "=", "=sh", "a=", "a=sh 'x", "a[timeout=5=sh", "a[timeout=-5s]=sh", "a[reject=0]=sh", "*[max-attempts=3,backoff=5s..10m,concurrency=2]=sh", "a[backoff=1h..1s]=sh", "a[backoff=30s]=sh", "a[backoff=..]=sh", "a[[=]]=sh", "]=[=sh", "a]=sh", "\xff=sh", "a\x00=sh \x00", "שלום\u200f=sh", "a=./", "a=/", "a=sh \\",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, faults := ParseSpec(text)
		for _, fault := range faults {
			if !strings.HasPrefix(fault.Error(), strconv.Quote(text)+": ") {
				t.Errorf("%v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		if spec.JobType == "" || len(spec.Args) == 0 || spec.Args[0] == "" || spec.Timeout < 0 || spec.RejectStatus < 0 || spec.RejectStatus > 255 {
			t.Fatalf("%q is accepted as %+v", text, spec)
		}
		options := []string{spec.Settings.String()}
		if spec.RejectStatus > 0 {
			options = append(options, "reject="+strconv.Itoa(spec.RejectStatus))
		}
		written := spec.JobType + "[" + strings.Join(options, ",") + "]=" + shellquote.Join(spec.Args...)
		if again, faults := ParseSpec(written); len(faults) > 0 || !reflect.DeepEqual(again, spec) {
			t.Errorf("%q is %+v; written as %q it is %+v, %v", text, spec, written, again, faults)
		}
	})
}
