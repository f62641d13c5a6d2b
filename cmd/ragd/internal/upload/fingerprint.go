package upload

import (
	"crypto/sha256"
	"encoding/base64"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// fingerprint is over everything that an upload says of a document but where it
// goes: 128 bits in base64, short enough for a hundred thousand in one message. header
// is without that for the while: a copy would cost more than all the rest.
func fingerprint(header *ragdv1.UploadDocumentRequest, content []byte) string {
	index, namespace, uri := header.GetIndexName(), header.GetNamespace(), header.GetUri()
	header.IndexName, header.Namespace, header.Uri, header.Fingerprint = "", "", "", ""
	settings, err := proto.MarshalOptions{Deterministic: true}.Marshal(header)
	header.IndexName, header.Namespace, header.Uri = index, namespace, uri
	if err != nil {
		return "" // no text that is not UTF-8 gets this far; without one it is merely sent again
	}
	h := sha256.New()
	settled := sha256.Sum256(settings)
	h.Write(settled[:])
	h.Write(content)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}
