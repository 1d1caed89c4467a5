# The container image of the manager, for those who build with a container runtime. `make release` builds the same image
# without one.
FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY api/go.mod api/go.sum api/
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -buildid=" -o /out/manager ./cmd/drover

# Nothing but the program: no shell, no package manager, no files to write to.
FROM scratch
COPY LICENSE /LICENSE
COPY --from=build /out/manager /manager
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
