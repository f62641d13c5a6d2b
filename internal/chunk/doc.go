// Package chunk cuts texts into chunks. It does no I/O, and its functions are safe
// for concurrent use.
//
//	opts, err := chunk.Settings{Strategy: chunk.Recursive, MaxSize: new(800)}.Options()
//	chunks, err := chunk.Split(ctx, text, opts)
//
// Strategies that need more than a file have rooms of their own:
//
//	markdown, htmlsplit, jsonsplit  the structure of a format
//	frontmatter                     the metadata at the beginning of a Markdown file
//	sentence, tokenizer             ends of sentences, tokens of language models
//	outline                         the headings that enclose a position
//	textspan, assembly, blocks      spans of a source, and chunks built from them with their origin
//
// Offsets of a chunk are bytes of the source. The wing may import the leaf rooms of operate alone.
package chunk
