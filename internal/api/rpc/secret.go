package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// SetSecret implements SecretService.
func (h *Handlers) SetSecret(ctx context.Context, req *ragdv1.SetSecretRequest) (*ragdv1.SetSecretResponse, error) {
	var hosts []string // nil keeps those of the secret
	if req.Hosts != nil {
		hosts = append([]string{}, req.GetHosts().GetHosts()...)
	}
	if !req.GetGenerate() {
		stored, err := h.Secrets.Set(ctx, req.GetSecretName(), req.GetValue(), hosts)
		return &ragdv1.SetSecretResponse{Secret: secretMessage(stored)}, err
	}
	if req.GetValue() != "" {
		return nil, fault.Field("generate", "needs no value: give one of the two")
	}
	stored, value, err := h.Secrets.Generate(ctx, req.GetSecretName(), hosts)
	return &ragdv1.SetSecretResponse{Secret: secretMessage(stored), GeneratedValue: value}, err
}

// ListSecrets implements SecretService.
func (h *Handlers) ListSecrets(ctx context.Context, req *ragdv1.ListSecretsRequest) (*ragdv1.ListSecretsResponse, error) {
	found, next, err := h.Secrets.List(ctx, req.GetPageSize(), req.GetPageToken())
	res := &ragdv1.ListSecretsResponse{NextPageToken: next}
	for _, s := range found {
		res.Secrets = append(res.Secrets, secretMessage(s))
	}
	return res, err
}

// DeleteSecret implements SecretService.
func (h *Handlers) DeleteSecret(ctx context.Context, req *ragdv1.DeleteSecretRequest) (*ragdv1.DeleteSecretResponse, error) {
	return &ragdv1.DeleteSecretResponse{}, h.Secrets.Delete(ctx, req.GetSecretName())
}

func secretMessage(s secret.Secret) *ragdv1.Secret {
	return &ragdv1.Secret{SecretName: s.Name, Hosts: s.Hosts, CreateTime: timestamp(s.CreatedAt), UpdateTime: timestamp(s.UpdatedAt)}
}
