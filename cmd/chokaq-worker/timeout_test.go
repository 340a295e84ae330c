package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// mute listens, accepts, and never says a word, as a server does whose process is frozen.
func mute(t *testing.T) (dsn string, accepted <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		var all []net.Conn
		for {
			c, err := listener.Accept()
			if err != nil {
				for _, c := range all {
					_ = c.Close()
				}
				return
			}
			all = append(all, c)
			heard <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return "sqlserver://sa:Top-Secret-1@" + listener.Addr().String() + "?database=shop&encrypt=disable", heard
}

// commandsWithDatabase are command lines of all kinds that call a database.
var commandsWithDatabase = [][]string{
	{"status"}, {"queue", "list"}, {"queue", "pause", "mail"}, {"dlq", "list"}, {"dlq", "requeue", "--all", "--yes"}, {"recover"}, {"migrate", "status"}, {"migrate", "up"},
	{"agent-jobs", "status"}, {"enqueue", "--type", "t"}, {"enqueue", "-"}, {"cancel", "1"}, {"jobs", "running"}, {"recurring", "list"}, {"settings", "list"},
	{"workers"}, {"stops"}, {"advise"}, {"doctor"},
}

func TestNoCommandWaitsForAServerThatIsMute(t *testing.T) {
	t.Parallel()
	dsn, _ := mute(t)
	for _, args := range commandsWithDatabase {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			r := spawn(t, strings.NewReader(`{"type": "t"}`), []string{"CHOKAQ_DSN=" + dsn}, append(args, "--timeout", "1s")...).end(t)
			r.want(t, 5, `database "shop" on 127.0.0.1:`, "cannot be reached", "CHOKAQ_DSN")
			if args[0] != "doctor" {
				r.want(t, 5, "--timeout")
			}
		})
	}
}

func TestASignalEndsACommandThatWaitsForAServer(t *testing.T) {
	t.Parallel()
	dsn, accepted := mute(t)
	for _, args := range [][]string{{"status"}, {"doctor"}, {"migrate", "status"}, {"recover"}} {
		p := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn}, append(args, "--timeout", "0")...)
		<-accepted
		p.signal(t, syscall.SIGTERM)
		r := p.end(t).want(t, 130)
		if got := strings.TrimSpace(r.stdout); got != "chokaq-worker: interrupted (SIGTERM)" {
			t.Errorf("%q: %s", args, got)
		}
	}
}

// A server that stops answering in the middle.
func TestNoCommandWaitsForAnAnswerThatDoesNotCome(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	for _, c := range []struct {
		held string
		args []string
	}{
		{"GetInstallation", []string{"status"}}, {"RecoveryStatus", []string{"status"}}, {"FindDeadJobs", []string{"dlq", "requeue", "--all", "--yes"}},
		{"EnqueueJobs", []string{"enqueue", "--type", "t"}}, {"PauseQueue", []string{"queue", "pause", "mail"}}, {"sp_getapplock", []string{"migrate", "up"}},
		{"RescueZombieJobs", []string{"recover"}},
	} {
		server.Faults().Add(fault.Rule{Text: c.held, Silent: true})
		server.Faults().Add(fault.Rule{Procedure: "chokaq." + c.held, Silent: true})
		call(t, dsn, append(c.args, "--timeout", "1s")...).want(t, 5, `database "shop" on 127.0.0.1:`, "cannot be reached")
		server.Faults().Clear()
	}
	call(t, dsn, "status", "--timeout", "1s").want(t, 0)
}

// doctor goes on when one look gets no answer, and ends with 5 when nothing does any more.
func TestDoctorOfAServerThatStopsAnswering(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	server.Faults().Add(fault.Rule{Text: "chokaq.QueueStatus", Silent: true})
	r := call(t, dsn, "doctor", "--json", "--timeout", "1s").want(t, 7)
	if got := diagnosis(t, r); got["queues"] != "error" || got["recurring jobs"] != "ok" {
		t.Errorf("%v", got)
	}
	server.Faults().Clear()
	var silent atomic.Bool // from this check on, nothing is answered
	server.Faults().Add(fault.Rule{Silent: true, Match: func(e fault.Event) bool {
		if strings.Contains(e.Text, "chokaq.QueueStatus") {
			silent.Store(true)
		}
		return silent.Load()
	}})
	call(t, dsn, "doctor", "--timeout", "1s").want(t, 5, "does not answer any more")
}

func TestAPeerThatSpeaksSomethingElse(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for _, args := range [][]string{{"status"}, {"migrate", "up"}, {"doctor"}, {"enqueue", "--type", "t"}} {
		call(t, "sqlserver://sa:x@"+web.Listener.Addr().String()+"?database=shop&encrypt=disable", append(args, "--timeout", "2s")...).want(t, 5, "cannot be reached")
	}
	greeter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := greeter.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "220 mail.example.com ESMTP ready to serve you\r\n")
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = greeter.Close()
		<-ended
	})
	call(t, "sqlserver://sa:x@"+greeter.Addr().String()+"?database=shop&encrypt=disable", "status", "--timeout", "2s").want(t, 5, "cannot be reached; check host and port")
}

func TestTimeoutThatIsNone(t *testing.T) {
	for _, text := range []string{"-1s", "1500ms", "25h"} {
		callWith(t, "", nil, "status", "--timeout="+text).want(t, 2, "--timeout", "whole seconds")
	}
	callWith(t, "", nil, "run", "--timeout", "5s").want(t, 2, "--command-timeout")
}

// A batch of lines that a frozen server does not answer is told as one whose fate is not known.
func TestInterruptedWhileABatchGetsNoAnswer(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	held := make(chan struct{}, 1)
	server.Faults().Add(fault.Rule{Procedure: "chokaq.EnqueueJobs", Silent: true, Match: func(fault.Event) bool {
		select {
		case held <- struct{}{}:
		default:
		}
		return true
	}})
	p := spawn(t, strings.NewReader(`{"type": "t"}`), []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "-")
	select {
	case <-held:
	case <-time.After(patience):
		t.Fatal("no batch came")
	}
	p.signal(t, os.Interrupt.(syscall.Signal))
	p.end(t).want(t, 130, "interrupted", "It is not known whether this batch was enqueued", "--from-line 1")
}

// A server that is frozen between the first answer and the encryption that this has agreed to.
func TestNoCommandWaitsForAHandshakeThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	server, dsn := newServer(t)
	middle, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client, err := middle.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		back, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Error(err)
			return
		}
		defer back.Close()
		packet := make([]byte, 4096)
		for _, way := range [][2]net.Conn{{client, back}, {back, client}} { // the prelogin, and its answer
			n, err := way[0].Read(packet)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := way[1].Write(packet[:n]); err != nil {
				t.Error(err)
				return
			}
		}
		_, _ = io.Copy(io.Discard, client) // until it gives up
	}()
	t.Cleanup(func() {
		_ = middle.Close()
		<-ended
	})
	dsn = strings.Replace(strings.Replace(dsn, server.Addr(), middle.Addr().String(), 1), "encrypt=disable", "encrypt=true&TrustServerCertificate=true", 1)
	call(t, dsn, "status", "--timeout", "1s").want(t, 5, "cannot be reached; check host and port")
}

// A certificate that nobody vouches for is no outage, and is called what it is.
func TestACertificateThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	_, dsn := newServer(t)
	call(t, strings.Replace(dsn, "encrypt=disable", "encrypt=true", 1), "status").want(t, 5, "no encrypted connection can be made", "TrustServerCertificate", "certificate")
}
