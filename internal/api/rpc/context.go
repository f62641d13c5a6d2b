package rpc

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/contextkey"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// DeclareContextKey implements ContextService.
func (h *Handlers) DeclareContextKey(ctx context.Context, req *ragdv1.DeclareContextKeyRequest) (*ragdv1.DeclareContextKeyResponse, error) {
	wanted := req.GetKey()
	k := contextkey.Key{ContextKey: access.ContextKey{
		Name: wanted.GetName(), Description: wanted.GetDescription(), Secret: wanted.GetSecret(),
		Source: access.ContextSource(wanted.GetSource()), From: wanted.GetFrom(),
	}}
	var err error
	if wanted.GetSchema() != nil {
		if k.Schema, err = protojson.Marshal(wanted.GetSchema()); err != nil {
			return nil, fault.Field("key.schema", "cannot be written as JSON")
		}
	}
	if wanted.GetDefault() != nil {
		raw, err := protojson.Marshal(wanted.GetDefault())
		if err != nil {
			return nil, fault.Field("key.default", "cannot be written as JSON")
		}
		if k.Default, err = schema.Decode(raw); err != nil {
			return nil, fault.Field("key.default", "%s", err)
		}
	}
	stored, err := h.ContextKeys.Declare(ctx, k)
	if err != nil {
		return nil, err
	}
	message, err := contextKeyMessage(stored)
	return &ragdv1.DeclareContextKeyResponse{Key: message}, err
}

// GetContextKey implements ContextService.
func (h *Handlers) GetContextKey(ctx context.Context, req *ragdv1.GetContextKeyRequest) (*ragdv1.GetContextKeyResponse, error) {
	found, err := h.ContextKeys.Get(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	message, err := contextKeyMessage(found)
	return &ragdv1.GetContextKeyResponse{Key: message}, err
}

// ListContextKeys implements ContextService.
func (h *Handlers) ListContextKeys(ctx context.Context, req *ragdv1.ListContextKeysRequest) (*ragdv1.ListContextKeysResponse, error) {
	found, next, err := h.ContextKeys.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListContextKeysResponse{NextPageToken: next}
	for _, k := range found {
		message, err := contextKeyMessage(k)
		if err != nil {
			return nil, err
		}
		res.Keys = append(res.Keys, message)
	}
	return res, nil
}

// DeleteContextKey implements ContextService.
func (h *Handlers) DeleteContextKey(ctx context.Context, req *ragdv1.DeleteContextKeyRequest) (*ragdv1.DeleteContextKeyResponse, error) {
	return &ragdv1.DeleteContextKeyResponse{}, h.ContextKeys.Delete(ctx, req.GetName())
}

// contextKeyMessage returns a declaration without the default of a secret.
func contextKeyMessage(k contextkey.Key) (*ragdv1.ContextKey, error) {
	message := &ragdv1.ContextKey{
		Name: k.Name, Description: k.Description, Secret: k.Secret, Source: string(k.Source), From: k.From,
		CreateTime: timestamp(k.CreatedAt), UpdateTime: timestamp(k.UpdatedAt),
	}
	if len(k.Schema) > 0 {
		message.Schema = &structpb.Struct{}
		if err := protojson.Unmarshal(k.Schema, message.Schema); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "read a schema")
		}
	}
	if k.Default == nil || k.Secret {
		return message, nil
	}
	var err error
	message.Default, err = valueMessage(k.Default)
	return message, err
}

// valueMessage returns decoded JSON as a message.
func valueMessage(v any) (*structpb.Value, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "write a value")
	}
	message := &structpb.Value{}
	if err := protojson.Unmarshal(raw, message); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "write a value")
	}
	return message, nil
}

// contextMessages returns an effective request context, with secrets masked.
func contextMessages(values []access.ContextValue) []*ragdv1.ContextValue {
	messages := make([]*ragdv1.ContextValue, len(values))
	for i, v := range values {
		messages[i] = &ragdv1.ContextValue{Name: v.Name, Secret: v.Secret, Origin: v.Origin}
		if value, err := valueMessage(v.Value); err == nil && !v.Secret {
			messages[i].Value = value
		}
	}
	return messages
}
