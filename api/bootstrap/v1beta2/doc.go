package v1beta2
