package conversion

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	conversionutil "sigs.k8s.io/cluster-api/util/conversion"
)

// takeKept takes the annotation off a converted object and returns the part of an object of the target version that it
// holds, or nothing if there is none or it cannot be read: anyone can write an annotation, and an error would make
// every list with this object in it fail.
func takeKept[target any](converted metav1.Object) target {
	kept := new(target)
	if _, err := conversionutil.UnmarshalData(converted, kept); err != nil {
		annotations := converted.GetAnnotations()
		delete(annotations, conversionutil.DataAnnotation)
		converted.SetAnnotations(annotations)
		// Reading may have stopped half way.
		return *new(target)
	}
	return *kept
}

// keep writes a part of an object of the source version into the annotation of the converted one.
func keep(part, converted metav1.Object) error {
	if err := conversionutil.MarshalData(part, converted); err != nil {
		return fmt.Errorf("keep what %T cannot express: %w", converted, err)
	}
	return nil
}

// same compares values as the API server does: unset and empty lists and maps are one.
func same(a, b any) bool {
	return apiequality.Semantic.DeepEqual(a, b)
}
