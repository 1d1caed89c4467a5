// Package conversion converts the kinds between the served API versions. The hub is v1beta2, which is stored; the
// other version is v1beta1.
//
// Nothing is lost in either direction. Each direction is a total, pure function of the object: it asks no API server,
// so that a read in v1beta1 needs no other provider's kinds, and it never fails on content, so that one odd object
// does not make a kind unreadable. Judging content is left to admission. What the target version cannot express goes
// into the annotation cluster.x-k8s.io/conversion-data of the converted object, on either side:
//
//   - on a v1beta1 object it is part of a v1beta2 object, as every Cluster API provider writes it;
//   - on a v1beta2 object it is part of a v1beta1 object: the deprecated fields as they were written, the apiVersion and
//     namespace of the infrastructureRef, durations with parts of a second, and the parts of a status only v1beta1 has.
//
// It is written only when something would be lost without it. When converting back, a kept value counts as long as it
// still means what the object says; when the object was changed in the meantime, the object wins and the kept value is
// dropped. The annotation's content may have been written by other providers of the same API, or by anybody: what
// cannot be read is left out.
//
// These are the rules where the versions differ:
//
//   - machineTemplate.infrastructureRef of v1beta1 wins over the deprecated infrastructureRef, which is used when the
//     former names nothing. nodeDrainTimeout goes the same way. Both stay where they were written.
//   - A v1beta2 reference has no version. In v1beta1 it gets the one it was written with, or that of a former reference
//     to the same kind, or else v1beta1, and the namespace of the object.
//   - Durations are rounded up to seconds, because a timeout of 0 means that there is none.
//   - replicas and version of a v1beta1 RKE2ControlPlaneTemplate have no effect, since the Cluster's topology decides;
//     they are kept. A control plane without version gets the empty version, which admission refuses by name.
//   - conditions of v1beta1 are made from those of v1beta2, and counters and flags of its status from the values
//     they correspond to. Those a v1beta1 client wrote are kept until the status changes.
package conversion
