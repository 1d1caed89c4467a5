// Package certificates keeps the serving certificate of the webhooks, so that
// nothing else has to be installed for it.
//
// The certificate and the authority that signed it are in a Secret. It is read
// through the API and served from memory, never from a mounted file: a webhook
// server has its certificate from its first moment on. Whoever calls the
// webhooks learns the authority from the field caBundle, which is kept too. All
// of it is watched, and looked at again when the certificate has to be renewed.
package certificates
