package workload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	portforwardconstants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
)

// DialPod opens a connection to a port of a pod through the API server. The
// context bounds the opening only. The API server reaches the pod through its
// node's kubelet, so that a dead kubelet shows as a timeout.
func (c *Cluster) DialPod(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	target, err := podURL(c.config, namespace, pod)
	if err != nil {
		return nil, fmt.Errorf("port-forward to pod %s/%s: %w", namespace, pod, err)
	}
	stream, err := dialWebSocket(ctx, c.config, target)
	if webSocketUnsupported(err) {
		stream, err = dialSPDY(ctx, c.config, target)
	}
	if err != nil {
		return nil, fmt.Errorf("port-forward to pod %s/%s: %w", namespace, pod, err)
	}
	conn, err := openStreams(ctx, stream, port)
	if err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("port-forward to port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return conn, nil
}

func podURL(config *rest.Config, namespace, pod string) (*url.URL, error) {
	shallow := *config
	shallow.GroupVersion = &corev1.SchemeGroupVersion
	shallow.APIPath = "/api"
	shallow.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	httpClient, err := rest.HTTPClientFor(&shallow)
	if err != nil {
		return nil, err
	}
	core, err := rest.RESTClientForConfigAndClient(&shallow, httpClient)
	if err != nil {
		return nil, err
	}
	return core.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL(), nil
}

// dialWebSocket is the way since Kubernetes 1.31: SPDY frames in a WebSocket.
func dialWebSocket(ctx context.Context, config *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, holder, err := websocket.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	protocol := portforwardconstants.WebsocketsSPDYTunnelingPrefix + portforward.PortForwardProtocolV1Name
	conn, err := websocket.Negotiate(transport, holder, req, protocol)
	if err != nil {
		return nil, err
	}
	return streamspdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("client", conn), portforward.PingPeriod)
}

// webSocketUnsupported tells whether the other way is worth a try. It is not
// when the API server understood the request and says that there is no such
// pod, or that it can't reach the kubelet.
func webSocketUnsupported(err error) bool {
	if httpstream.IsHTTPSProxyError(err) {
		return true
	}
	var upgrade *httpstream.UpgradeFailureError
	if !errors.As(err, &upgrade) {
		return false
	}
	code := apierrors.ReasonForError(upgrade.Cause)
	return code != metav1.StatusReasonNotFound && code != metav1.StatusReasonInternalError &&
		code != metav1.StatusReasonServiceUnavailable && code != metav1.StatusReasonTimeout
}

// dialSPDY is the way before that, and behind proxies that know no WebSocket.
func dialSPDY(ctx context.Context, config *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: transport}, req, portforward.PortForwardProtocolV1Name)
	return conn, err
}

// openStreams opens the pair of streams that makes one forwarded connection.
// The error stream comes first, as the protocol asks for.
func openStreams(ctx context.Context, connection httpstream.Connection, port int) (net.Conn, error) {
	// CreateStream waits for the peer without a context. Closing the
	// connection is what ends it.
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := connection.CreateStream(headers)
	if err != nil {
		return nil, firstError(ctx, err)
	}
	// Nothing is written to it; closing our side says so.
	if err := problems.Close(); err != nil {
		return nil, firstError(ctx, err)
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, firstError(ctx, err)
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return newConn(connection, data, problems, port), nil
}

func firstError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// earlier returns the earlier of two deadlines. The zero time is no deadline.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
