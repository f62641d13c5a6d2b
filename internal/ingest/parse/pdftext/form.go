package pdftext

import (
	"strings"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

// Attachment is a file within a PDF file.
type Attachment struct {
	Name    string
	Content []byte
}

// attachments returns the files within the file.
func (d *document) attachments() []Attachment {
	found, err := d.GetAttachments(&requests.GetAttachments{Document: d.file})
	if err != nil {
		return nil
	}
	var all []Attachment
	for _, a := range found.Attachments {
		all = append(all, Attachment{strings.TrimRight(a.Name, "\x00"), a.Content})
	}
	return all
}

// hasForm reports whether the file has a form to fill in.
func (d *document) hasForm() bool {
	form, err := d.FPDF_GetFormType(&requests.FPDF_GetFormType{Document: d.file})
	return err == nil && form.FormType != enums.FPDF_FORMTYPE_NONE
}

// values returns the fields of the form on a page that are filled in, one on each line as
// "name: value", or "".
func (d *document) values(index int) string {
	form, err := d.GetForm(&requests.GetForm{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: d.file, Index: index}}})
	if err != nil {
		return ""
	}
	var out []string
	for _, field := range form.Fields {
		if value := clean(valueOf(field)); value != "" {
			out = append(out, clean(field.Name)+": "+value)
		}
	}
	return strings.Join(out, "\n")
}

// valueOf returns the value of a field, "yes" for a box that is checked, or "".
func valueOf(field responses.FormField) string {
	switch {
	case field.Type == enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON, field.Type == enums.FPDF_FORMFIELD_TYPE_SIGNATURE:
		return ""
	case len(field.Values) > 0:
		return strings.Join(field.Values, ", ")
	case field.IsChecked != nil && !*field.IsChecked:
		return ""
	case field.Type == enums.FPDF_FORMFIELD_TYPE_CHECKBOX:
		return "yes"
	case field.Value != nil:
		return *field.Value
	}
	return ""
}
