package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// clientPeriod is how often the writer and the reader ask.
	clientPeriod = 500 * time.Millisecond
	// clientTimeout bounds one request, so that a dead connection costs this much and no more.
	clientTimeout = 2 * time.Second
	// perObject is how many writes one ConfigMap holds. Each write keeps its own key, so that each can be checked.
	perObject = 20
	// clientNamespace is where the writer's ConfigMaps live.
	clientNamespace = "default"
)

// dialer is a Kubernetes client whose connections can be dropped. A user's client that meets an error opens a new
// connection; Go's HTTP/2 transport would stay on a stuck one, so the probes drop theirs after each failure.
type dialer struct {
	kube  kubernetes.Interface
	close func()
}

func newDialer(config *rest.Config) (dialer, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return dialer{}, fmt.Errorf("probe client: %w", err)
	}
	kube, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return dialer{}, fmt.Errorf("probe client: %w", err)
	}
	return dialer{kube: kube, close: closer(httpClient)}, nil
}

// closer unwraps client-go's layers of transports, which http.Client.CloseIdleConnections does not see through.
func closer(c *http.Client) func() {
	return func() { utilnet.CloseIdleConnectionsFor(c.Transport) }
}

// loop calls ask every clientPeriod until ctx ends and notes the answers.
func loop(ctx context.Context, name string, log *timeline.Log, answers *Answers, drop func(), ask func(context.Context) error) {
	answers.Start(time.Now())
	every(ctx, clientPeriod, func() {
		reqCtx, cancel := context.WithTimeout(ctx, clientTimeout)
		err := ask(reqCtx)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			answers.Failed(err)
			drop()
		default:
			now := time.Now()
			if since, show := answers.Got(now); show {
				log.Append(timeline.Event{Kind: timeline.ClientGap, Object: name, Since: since, At: now})
			}
		}
	})
}

// Writer writes a new value every half second and remembers what was acknowledged.
type Writer struct {
	Answers
	dialer
	prefix string
	done   chan struct{}
	acked  []int
}

// StartWriter starts a writer that ends with ctx. Its gaps go to log under "writer".
func StartWriter(ctx context.Context, config *rest.Config, log *timeline.Log) (*Writer, error) {
	d, err := newDialer(config)
	if err != nil {
		return nil, err
	}
	w := &Writer{dialer: d, prefix: "lab-writer-" + time.Now().Format("150405"), done: make(chan struct{})}
	next := 0
	go func() {
		defer close(w.done)
		loop(ctx, "writer", log, &w.Answers, w.close, func(ctx context.Context) error {
			// A write without an answer is not repeated: whether it was taken is unknown, so it counts for nothing.
			n := next
			next++
			if err := w.write(ctx, n); err != nil {
				return err
			}
			w.acked = append(w.acked, n)
			return nil
		})
	}()
	return w, nil
}

func (w *Writer) object(n int) string { return fmt.Sprintf("%s-%03d", w.prefix, n/perObject) }

func key(n int) string { return fmt.Sprintf("w%06d", n) }

func (w *Writer) write(ctx context.Context, n int) error {
	maps := w.kube.CoreV1().ConfigMaps(clientNamespace)
	data := map[string]string{key(n): strconv.Itoa(n)}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("render write %d: %w", n, err)
	}
	_, err = maps.Patch(ctx, w.object(n), types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.object(n)}, Data: data,
	}, metav1.CreateOptions{})
	return err
}

// Lost reads everything back and returns the acknowledged writes that are missing, and how many were acknowledged.
// Call it after the context of StartWriter ended.
func (w *Writer) Lost(ctx context.Context) (lost []int, acknowledged int, err error) {
	select {
	case <-w.done:
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("wait for the writer to end: %w", ctx.Err())
	}
	held := map[string]map[string]string{}
	for _, n := range w.acked {
		name := w.object(n)
		if held[name] == nil {
			cm, err := w.kube.CoreV1().ConfigMaps(clientNamespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, len(w.acked), fmt.Errorf("read back ConfigMap %s: %w", name, err)
			}
			held[name] = map[string]string{}
			if err == nil {
				held[name] = cm.Data
			}
		}
		if held[name][key(n)] != strconv.Itoa(n) {
			lost = append(lost, n)
		}
	}
	return lost, len(w.acked), nil
}

// StartReader starts a client that reads a ConfigMap every half second, by a quorum read, until ctx ends. Its gaps go to
// log under "reader".
func StartReader(ctx context.Context, config *rest.Config, log *timeline.Log) (*Answers, error) {
	d, err := newDialer(config)
	if err != nil {
		return nil, err
	}
	answers := &Answers{}
	go loop(ctx, "reader", log, answers, d.close, func(ctx context.Context) error {
		_, err := d.kube.CoreV1().ConfigMaps("kube-system").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // an answer all the same
		}
		return err
	})
	return answers, nil
}
