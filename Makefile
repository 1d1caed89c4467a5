# Drover. `make help` lists what can be done here.
SHELL := /bin/bash
.DEFAULT_GOAL := help

export CGO_ENABLED := 0
# Without the state of the work tree in it, the same source gives the same binary.
export GOFLAGS := -buildvcs=false

BIN := $(CURDIR)/bin
KUBE_VERSION := v1.36.3
# Kubernetes reports the version that is stamped at link time.
KUBE_LDFLAGS := -s -w $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
	-X $(p).gitVersion=$(KUBE_VERSION) -X $(p).gitMajor=1 -X $(p).gitMinor=36 -X $(p).gitCommit=lab -X $(p).gitTreeState=clean -X $(p).buildDate=2026-01-01T00:00:00Z)
PROGRESS := scripts/progress.sh
export KUBEBUILDER_ASSETS := $(BIN)/envtest

##@ The two commands of the README

.PHONY: demo
demo: build ## Upgrade a three-server cluster in the laboratory, with live progress, a timeline and figures
	$(BIN)/lab demo

.PHONY: test
test: unit short-stories ## Run unit tests, tests against a real API server, and the shortest stories of each kind (40 minutes at most)

##@ Building

.PHONY: build
build: prerequisites $(BIN)/kube $(BIN)/capi-core $(BIN)/clusterctl drover drover-next kubectl-drover lab providers repository ## Build everything the laboratory runs

.PHONY: drover
drover: ## Build the manager
	@$(PROGRESS) "building bin/drover" go build -o $(BIN)/drover ./cmd/drover

# Another build of the same code, to which a story upgrades.
.PHONY: drover-next
drover-next: drover
	@$(PROGRESS) "building bin/drover-next" go build -ldflags '-s -w' -o $(BIN)/drover-next ./cmd/drover

.PHONY: kubectl-drover
kubectl-drover: ## Build the plugin for kubectl
	@$(PROGRESS) "building bin/kubectl-drover" go build -o $(BIN)/kubectl-drover ./cmd/kubectl-drover

.PHONY: lab
lab: ## Build the laboratory's own program
	@$(PROGRESS) "building bin/lab" go -C lab build -o $(BIN)/lab ./cmd/lab

# The heavy parts are built once; they change only with their versions.
$(BIN)/kube: lab/go.mod lab/go.sum $(wildcard lab/cmd/kube/*.go)
	@$(PROGRESS) "building bin/kube: etcd, Kubernetes $(KUBE_VERSION) (4 to 15 minutes the first time)" \
		go -C lab build -ldflags '$(KUBE_LDFLAGS)' -o $@ ./cmd/kube

$(BIN)/capi-core: lab/go.mod lab/go.sum
	@$(PROGRESS) "building bin/capi-core: Cluster API's core manager" \
		go -C lab build -ldflags '-s -w' -o $@ sigs.k8s.io/cluster-api/core

$(BIN)/clusterctl: lab/go.mod lab/go.sum
	@$(PROGRESS) "building bin/clusterctl" go -C lab build -ldflags '-s -w' -o $@ sigs.k8s.io/cluster-api/cmd/clusterctl

.PHONY: providers
providers: ## Lay out what runs on the laboratory's management cluster
	@capi=$$(go -C lab list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api) && \
	mkdir -p $(BIN)/providers/cluster-api/crds $(BIN)/providers/cluster-api/webhooks $(BIN)/providers/drover/crds $(BIN)/providers/drover/webhooks && \
	install -m 644 $$capi/core/config/crd/bases/*.yaml $(BIN)/providers/cluster-api/crds/ && \
	install -m 644 $$capi/core/config/webhook/manifests.yaml $(BIN)/providers/cluster-api/webhooks/ && \
	install -m 644 lab/providers/cluster-api/provider.yaml $(BIN)/providers/cluster-api/ && \
	install -m 644 config/crd/bases/*.yaml $(BIN)/providers/drover/crds/ && \
	install -m 644 config/webhook/bootstrap/manifests.yaml $(BIN)/providers/drover/webhooks/bootstrap.yaml && \
	install -m 644 config/webhook/control-plane/manifests.yaml $(BIN)/providers/drover/webhooks/control-plane.yaml && \
	install -m 644 lab/providers/drover/provider.yaml $(BIN)/providers/drover/

.PHONY: repository
repository: manifests ## Lay out what clusterctl installs in the laboratory: Cluster API's core and the release
	@capi=$$(go -C lab list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api) && out=$(BIN)/repository && \
	core=$$out/cluster-api/$$(go -C lab list -m -f '{{.Version}}' sigs.k8s.io/cluster-api) && \
	rm -rf $$out && mkdir -p $$core $$out/rke2 && \
	$(BIN)/kustomize build $$capi/core/config/default >$$core/core-components.yaml && \
	install -m 644 $$capi/metadata.yaml $$core/ && \
	install -m 644 $(DIST)/release/*.yaml $$out/rke2/

.PHONY: envtest
envtest: $(BIN)/kube
	@mkdir -p $(KUBEBUILDER_ASSETS)
	@for part in etcd kube-apiserver kubectl; do ln -sf ../kube $(KUBEBUILDER_ASSETS)/$$part; done

.PHONY: prerequisites
prerequisites:
	@scripts/prerequisites.sh

##@ Checking

.PHONY: verify
verify: generate lint unit ## What must pass before a change is handed in: generated files, linters, unit tests, clean tree
	@scripts/clean-tree.sh

.PHONY: generate
generate: $(BIN)/controller-gen $(BIN)/crd-ref-docs ## Generate deep copies, CRDs, webhook configurations and the references from the Go code
	cd api && $(BIN)/controller-gen object crd:crdVersions=v1 paths=./bootstrap/... paths=./controlplane/... output:crd:artifacts:config=../config/crd/bases
	cd lab/api && $(BIN)/controller-gen object crd:crdVersions=v1 paths=./v1beta2/... output:crd:artifacts:config=crds
	$(BIN)/controller-gen webhook paths=./internal/admission/bootstrap/... output:webhook:artifacts:config=config/webhook/bootstrap
	$(BIN)/controller-gen webhook paths=./internal/admission/controlplane/... output:webhook:artifacts:config=config/webhook/control-plane
	$(BIN)/crd-ref-docs --log-level=ERROR --source-path=api --config=docs/reference/generator.yaml --templates-dir=docs/reference/templates \
		--renderer=markdown --output-path=docs/reference/api.md
	go run ./internal/render/nodeconfigdoc >$(BIN)/node-config.md && mv $(BIN)/node-config.md docs/reference/node-config.md

$(BIN)/crd-ref-docs: tools/go.mod tools/go.sum
	@$(PROGRESS) "building bin/crd-ref-docs" go -C tools build -o $@ github.com/elastic/crd-ref-docs

$(BIN)/controller-gen: tools/go.mod tools/go.sum
	@$(PROGRESS) "building bin/controller-gen" go -C tools build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

# A cache of its own: golangci-lint keeps findings with the path they were made at, and cannot judge those of another
# checkout that has gone.
export GOLANGCI_LINT_CACHE := $(BIN)/lint-cache

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters over all modules
	@for module in . api lab; do \
		$(PROGRESS) "linting $$module" sh -c "cd $$module && $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yaml ./..." || exit 1; \
	done

$(BIN)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@$(PROGRESS) "building bin/golangci-lint" go -C tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: unit
unit: prerequisites envtest ## Run the tests that need no laboratory
	go -C api test ./...
	go test -timeout 20m ./... # the explorer alone takes some minutes
	go -C lab test $$(go -C lab list ./... | grep -v /stories)

# How long each kind is looked at.
FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## Convert arbitrary objects between the API versions and render arbitrary content, for FUZZTIME each
	go test ./internal/render -run '^$$' -fuzz '^FuzzCloudConfig$$' -fuzztime $(FUZZTIME)
	go test ./internal/render -run '^$$' -fuzz '^FuzzIgnition$$' -fuzztime $(FUZZTIME)
	go test ./internal/conversion -run TestRoundTrip -count=1 -timeout 0 -v -args -fuzz-time $(FUZZTIME)

.PHONY: explore
explore: ## Walk all states of larger control planes than the tests do, and write the README's table
	go run ./cmd/kubectl-drover simulate --set --write README.md

# Nothing chosen: all of them, as many side by side as processors and memory have room for.
STORIES ?=
STORIES_AT_ONCE ?=
PLAY = SAMPLES="$(abspath $(SAMPLES))" STORIES_AT_ONCE=$(STORIES_AT_ONCE) go -C lab test -count=1 -v -parallel 100

.PHONY: stories
stories: build ## Play all stories of the laboratory (real etcd, API server, kubelet) and print a table; STORIES="a b" plays those
	STORIES="$(STORIES)" $(PLAY) -timeout 180m ./stories

.PHONY: short-stories
short-stories: build ## Play the stories that `make test` plays
	STORIES=short $(PLAY) -timeout 40m ./stories

# A checkout of the samples of Cluster API Provider RKE2: its folders examples and test.
SAMPLES ?= ../shared/compat/caprke2-samples

.PHONY: compat
compat: build ## Apply the manifests in SAMPLES, written for CAPRKE2, in the laboratory, and print what becomes of each file
	$(BIN)/lab compat --samples "$(SAMPLES)"

##@ Releasing

# Versions of Drover begin with 1.0: clusterctl compares them with those of the provider it replaces (metadata.yaml).
VERSION ?= v1.0.0
DIST ?= $(CURDIR)/dist
IMAGE := ghcr.io/drover-project/drover
# The time that everything in the image has: that of the last commit.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

.PHONY: release
release: manifests image ## Make everything of a release: manifests, templates and the container image (VERSION, DIST)
	@echo "$(VERSION) in $(DIST):" && cd $(DIST) && find release image -maxdepth 1 -mindepth 1 | sort

.PHONY: manifests
manifests: $(BIN)/kustomize ## Make what clusterctl reads: components of both providers, metadata and cluster templates
	@$(PROGRESS) "laying out the manifests of $(VERSION)" scripts/release.sh $(VERSION) $(DIST)

.PHONY: image
image: ## Make the container image for amd64 and arm64, as an OCI layout
	@$(PROGRESS) "building the image $(IMAGE):$(VERSION) (some minutes the first time)" \
		go -C tools run ./image --source $(CURDIR) --out $(DIST)/image --name $(IMAGE):$(VERSION) --epoch $(SOURCE_DATE_EPOCH)

$(BIN)/kustomize: tools/go.mod tools/go.sum
	@$(PROGRESS) "building bin/kustomize" go -C tools build -o $@ sigs.k8s.io/kustomize/kustomize/v5

##@ Other

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(BIN) dist

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*##/ {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
