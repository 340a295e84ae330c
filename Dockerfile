FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /chokaq-worker ./cmd/chokaq-worker

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /chokaq-worker /usr/local/bin/chokaq-worker
USER nonroot:nonroot
# SIGTERM stops gracefully; give it longer than grace period + cancellation period + flush timeout (40s by default).
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/chokaq-worker"]
CMD ["run"]
