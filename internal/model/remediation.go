package model

import "time"

// Remediation is the record of one replacement of an unhealthy server. It is
// kept in annotations, so that it survives a crash at any moment.
type Remediation struct {
	// Machine is the name of the Machine that was replaced.
	Machine string `json:"machine"`
	// At is when it was deleted.
	At time.Time `json:"at"`
	// Retry is how many replacements in a row came before: 0 for the first.
	Retry int `json:"retry,omitzero"`
}

// RemediationPolicy is how unhealthy servers may be replaced.
type RemediationPolicy struct {
	// MaxRetry is how many replacements of replacements may follow each other.
	// Nil means without end.
	MaxRetry *int `json:"maxRetry,omitzero"`
	// RetryPeriod is how long to wait after a replacement before the next in
	// the same row.
	RetryPeriod time.Duration `json:"retryPeriodNanoseconds,omitzero"`
	// MinHealthyPeriod is how long a replacement must have lived for its
	// failure to count as new and not as another one in the row.
	MinHealthyPeriod time.Duration `json:"minHealthyPeriodNanoseconds,omitzero"`
	// SingleServer is true when the operator allows the only server to be
	// replaced, too.
	SingleServer bool `json:"singleServer,omitzero"`
	// InProgress is the replacement whose new server is not made yet, nil when
	// there is none.
	InProgress *Remediation `json:"inProgress,omitzero"`
}

// Mark is what a MachineHealthCheck says of a Machine that it wants to have
// replaced. It is part of Cluster API's contract with owners of Machines
// (conditions HealthCheckSucceeded and OwnerRemediated), and therefore may be
// read for decisions.
type Mark struct {
	// Since is when the Machine failed its health check.
	Since time.Time `json:"since,omitzero"`
	// Why is the check's own text, for people.
	Why string `json:"why,omitzero"`
	// First is true when the user wants this Machine to be replaced before
	// others (annotation cluster.x-k8s.io/remediate-machine).
	First bool `json:"first,omitzero"`
}
