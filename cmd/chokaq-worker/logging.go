package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
)

// newLogger makes the logger that the settings ask for; its faults are faults of the configuration.
func (a *app) newLogger(settings config.Logging) (*zap.Logger, []error) {
	var faults []error
	level := zapcore.InfoLevel
	if settings.Level != "" {
		if err := level.UnmarshalText([]byte(settings.Level)); err != nil || level < zapcore.DebugLevel || level > zapcore.ErrorLevel {
			faults = append(faults, fmt.Errorf("CHOKAQ_LOG_LEVEL (--log-level): %q is not accepted; accepted: debug, info, warn or error", settings.Level))
		}
	}
	form := zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", MessageKey: "message",
		EncodeLevel: zapcore.LowercaseLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: func(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
			enc.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
		},
	}
	var encoder zapcore.Encoder
	switch settings.Format {
	case "json":
		encoder = zapcore.NewJSONEncoder(form)
	case "console":
		encoder = zapcore.NewConsoleEncoder(form)
	case "":
		if isTerminal(a.stderr) {
			encoder = zapcore.NewConsoleEncoder(form)
		} else {
			encoder = zapcore.NewJSONEncoder(form)
		}
	default:
		faults = append(faults, fmt.Errorf("CHOKAQ_LOG_FORMAT (--log-format): %q is not accepted; accepted: console or json", settings.Format))
		encoder = zapcore.NewJSONEncoder(form)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.stderr)), level)), faults
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colorful reports whether a stream takes colors.
func (a *app) colorful(stream io.Writer) bool {
	return isTerminal(stream) && a.variable("NO_COLOR") == ""
}
