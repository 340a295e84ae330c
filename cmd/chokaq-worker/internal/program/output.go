package program

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.uber.org/zap"
)

const (
	maxLine  = 4 << 10 // bytes of a line that are logged
	maxLines = 1000    // lines of a stream that are logged
	maxTail  = 2 << 10 // bytes of standard error that become the error's text
)

// tail keeps the last bytes written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - maxTail; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String begins with a whole character and has no byte that is not one.
func (t *tail) String() string {
	kept := t.kept
	for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(kept), "\x00", ""), "\uFFFD"))
}

// logLines reads a stream to its end and logs it line by line, within bounds: what is beyond them is read and dropped, so that
// the program never waits for a reader.
func logLines(stream io.Reader, log *zap.Logger) {
	reader := bufio.NewReaderSize(stream, maxLine)
	lines, beginning := 0, true
	for {
		piece, err := reader.ReadSlice('\n')
		if len(piece) > 0 && beginning {
			switch lines++; {
			case lines <= maxLines:
				text := strings.ToValidUTF8(strings.TrimRight(string(piece), "\r\n"), "\uFFFD")
				if errors.Is(err, bufio.ErrBufferFull) {
					text += " (the rest of the line is not logged)"
				}
				log.Info(text)
			case lines == maxLines+1:
				log.Warn("the program's further output is not logged")
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		beginning = err == nil
	}
}
