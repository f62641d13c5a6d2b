package graph

// threadOf returns what metadata say of an email under "file": its id, and those of
// the messages above it in its thread. What is not as ingest writes it does not count.
func threadOf(metadata map[string]any) (id string, above []string) {
	file, _ := metadata["file"].(map[string]any)
	id, _ = file["messageId"].(string)
	if answered, ok := file["inReplyTo"].(string); ok {
		above = append(above, answered)
	}
	switch references := file["references"].(type) {
	case []string:
		above = append(above, references...)
	case []any: // as it is read from the database
		for _, reference := range references {
			if text, ok := reference.(string); ok {
				above = append(above, text)
			}
		}
	}
	return id, above
}

// threadMentions are the names of the messages that emails answer, of their first
// chunks.
func threadMentions(documents []Document) map[Place][]Key {
	mentions := map[Place][]Key{}
	for _, d := range documents {
		_, above := threadOf(d.Metadata)
		for _, id := range above {
			if key, _, words := keyOf(id); words > 0 {
				place := Place{d.DocumentID, 0}
				mentions[place] = append(mentions[place], key)
			}
		}
	}
	return mentions
}
