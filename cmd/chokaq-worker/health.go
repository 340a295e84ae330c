package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

// serveHealth serves /ready (200 while the worker claims jobs and the database answers, else 503 and why) and /live (200).
func serveHealth(address string, worker *driver.Worker, logger *zap.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usageError{fmt.Errorf("CHOKAQ_HEALTH_ADDR (--health-addr): %q: %w; accepted: HOST:PORT or :PORT", address, err)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := worker.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "live") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the health endpoint has ended", zap.String("event", "health.failed"), zap.Error(err))
		}
	}()
	logger.Info("the health endpoint serves /ready and /live", zap.String("event", "health.serving"), zap.Stringer("address", listener.Addr()))
	return func() {
		within, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(within)
		<-served
	}, nil
}
