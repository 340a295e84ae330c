package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// admin is the HTTP port for probes and metrics. It answers until the worker has stopped, so that a stop can be watched.
type admin struct {
	server *http.Server
	log    *zap.Logger
	served chan struct{}
}

// serveAdmin serves
//
//	/livez    200 while the process can answer
//	/readyz   200 while the worker claims jobs and the database answers, else 503; the worker's status as JSON in both cases
//	/metrics  for Prometheus
//	/debug/pprof/  where asked for
func serveAdmin(address string, withPprof bool, worker *driver.Worker, metrics *prometheus.Registry, logger *zap.Logger) (*admin, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usageError{fmt.Errorf("CHOKAQ_ADMIN_ADDR (--admin-addr): %q: %w; accepted: HOST:PORT or :PORT", address, err)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "live") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, worker.Status()) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(logger), Timeout: 10 * time.Second}))
	if withPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	a := &admin{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: zap.NewStdLog(logger)}, log: logger, served: make(chan struct{})}
	go func() {
		defer close(a.served)
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the admin port has ended; the worker goes on", zap.String("event", "admin.failed"), zap.Error(err))
		}
	}()
	logger.Info("the admin port serves /livez, /readyz and /metrics", zap.String("event", "admin.serving"), zap.Stringer("address", listener.Addr()), zap.Bool("pprof", withPprof))
	return a, nil
}

func writeStatus(w http.ResponseWriter, status driver.Status) {
	w.Header().Set("Content-Type", "application/json")
	if !status.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(status) // the prober has gone: nothing to do
}

// stop ends the port within a second.
func (a *admin) stop() {
	within, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(within) != nil {
		_ = a.server.Close() // a scrape or profile that does not end
	}
	<-a.served
}
