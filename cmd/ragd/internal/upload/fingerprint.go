package upload

import (
	"crypto/sha256"
	"encoding/base64"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// fingerprint returns a hash of a document's content and settings, without its index,
// namespace and uri: 128 bits in base64, short enough for a hundred thousand in one
// message. It clears these fields of header while it runs, because a copy would be slow.
func fingerprint(header *ragdv1.UploadDocumentRequest, content []byte) string {
	index, namespace, uri := header.GetIndexName(), header.GetNamespace(), header.GetUri()
	header.IndexName, header.Namespace, header.Uri, header.Fingerprint = "", "", "", ""
	settings, err := proto.MarshalOptions{Deterministic: true}.Marshal(header)
	header.IndexName, header.Namespace, header.Uri = index, namespace, uri
	if err != nil {
		return "" // not reached with valid UTF-8; a document without a fingerprint is sent again
	}
	h := sha256.New()
	settingsHash := sha256.Sum256(settings)
	h.Write(settingsHash[:])
	h.Write(content)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}
