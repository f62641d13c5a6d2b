package rpc_test

import (
	"slices"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// lighthouse are pages whose people have spouses, children, colleagues and namesakes of whom more is said than of themselves.
var lighthouse = []page{
	{"corran", "Corran Light", "Corran Light is a lighthouse on the Isle of Vey. It was designed by Tamsin Roe and first lit in 1871. Its keeper was Odo Pell.", nil},
	{"tamsin", "Tamsin Roe", "Tamsin Roe was an engineer. She was trained by Gerrit Vane. She married Lucas Arden in 1866. She died in Port Sable.", nil},
	{"lucas", "Lucas Arden", "Lucas Arden was a cellist. He was born in Quillan. He played with the Meridian Quartet.", nil},
	{"gerrit", "Gerrit Vane", "Gerrit Vane was born in Hathe. He studied at the Polytechnic of Orne and dug canals.", nil},
	{"quillan", "Quillan", "Quillan is a market town with 4,100 inhabitants. It lies on the Tave.", nil},
	{"hathe", "Hathe", "Hathe has 760 inhabitants. The Mossel flows through it.", nil},
	{"odo", "Odo Pell", "Odo Pell kept the light for thirty years. His daughter Wren Pell was born in Quillan. He sang ballads.", nil},
	{"wren", "Wren Pell", "Wren Pell founded the Vey Herald. Her husband was Tobin Crake. Her brother, Silas Pell, was born in Port Sable.", nil},
	{"herald", "Vey Herald", "The Vey Herald is a weekly newspaper. It is printed in Port Sable by Crake and Daughters. Its first editor was Maud Iver. Wren Pell founded it.", nil},
	{"maud", "Maud Iver", "Maud Iver was educated at Saint Orrin's School. Together with her colleague Piers Lund she covered the floods. Piers Lund was born in Hathe.", nil},
	{"piers", "Piers Lund", "Piers Lund reported on shipping. He studied at the Polytechnic of Orne.", nil},
	{"sable", "Port Sable", "Port Sable is a harbour of 23,000 inhabitants. It is twinned with Anselm.", nil},
	{"brack", "Brack Observatory", "Brack Observatory stands on Mount Ysel. It was founded by Leontine Faure. The dome was built by Hobb and Sons. The astronomer Idris Quill directed it from 1902.", nil},
	{"leontine", "Leontine Faure", "Leontine Faure was born in Anselm. Her sister Odile Faure studied at the Academy of Lorne. Her teacher was Bastian Wolde.", nil},
	{"odile", "Odile Faure", "Odile Faure painted portraits. She was taught by Camille Dray.", nil},
	{"idris", "Idris Quill", "Idris Quill was an astronomer. He discovered the comet Ysolde. He married Petra Hobb.", nil},
	{"namesake", "Idris Quill (composer)", "Idris Quill, the composer, was born in Marl. He wrote the opera The Salt Road.", nil},
	{"bastian", "Bastian Wolde", "Bastian Wolde taught mathematics at the Lyceum of Marl. He died in Hathe.", nil},
	{"ysel", "Mount Ysel", "Mount Ysel is 1,930 metres high. The Tave rises on its slopes. It was first climbed by Nils Corbet.", nil},
	{"nils", "Nils Corbet", "Nils Corbet was a guide. His partner on the rope was Rhea Sandoval, who was born in Quillan. He belonged to the Anselm Alpine Club.", nil},
	{"rhea", "Rhea Sandoval", "Rhea Sandoval climbed in her youth and later sat in the council of Anselm.", nil},
	{"tave", "Tave", "The Tave is a river 212 kilometres long. It flows through Quillan and past Marl.", nil},
	{"quartet", "Meridian Quartet", "The Meridian Quartet was founded by Ansgar Thiel in 1860. Its rival was the Lorne Ensemble, which was led by Vera Molnar. Lucas Arden played the cello.", nil},
	{"ansgar", "Ansgar Thiel", "Ansgar Thiel married the singer Ilka Brandt. She was born in Port Sable. He studied under Josef Marn.", nil},
	{"josef", "Josef Marn", "Josef Marn was born in Marl and educated at the Academy of Lorne.", nil},
	{"vera", "Vera Molnar", "Vera Molnar was born in Anselm.", nil},
	{"gannet", "Gannet", "The Gannet is a ferry. Hobb and Sons built it for its owner, Casimir Teal. Ruth Ames worked beside its first captain, Jory Blythe.", nil},
	{"hobb", "Hobb and Sons", "Hobb and Sons was a foundry in Marl. Edmund Hobb set it up in 1822. Petra Hobb kept its books.", nil},
	{"edmund", "Edmund Hobb", "Edmund Hobb was apprenticed to Silvan Roake. He taught Casimir Teal.", nil},
	{"casimir", "Casimir Teal", "Casimir Teal ran three ferries. He was born in Hathe.", nil},
	{"jory", "Jory Blythe", "Jory Blythe was educated at Saint Orrin's School. He drowned in 1889.", nil},
	{"ruth", "Ruth Ames", "Ruth Ames was born in Anselm.", nil},
	{"orrin", "Saint Orrin's School", "Saint Orrin's School is in Anselm. It was founded by Abbess Hild.", nil},
	{"anselm", "Anselm", "Anselm has 51,000 inhabitants. Its mayor was Rhea Sandoval.", nil},
	{"orne", "Polytechnic of Orne", "The Polytechnic of Orne opened in 1811. Its first rector was Silvan Roake.", nil},
	{"lorne", "Academy of Lorne", "The Academy of Lorne teaches painting and music. It lies in Marl.", nil},
	{"marl", "Marl", "Marl has 9,800 inhabitants.", nil},
}

// Each question has the pages that answer it, or none if no page does.
var lighthouseQuestions = []struct {
	text  string
	pages []string
}{
	{"Who taught the designer of Corran Light?", []string{"corran", "tamsin"}},
	{"How many inhabitants has the town where the teacher of Corran Light's designer was born?", []string{"corran", "tamsin", "gerrit", "hathe"}},
	{"Where was the owner of the Gannet born?", []string{"gannet", "casimir"}},
	{"Which school did the first captain of the Gannet attend?", []string{"gannet", "jory"}},
	{"Who founded the school that the first captain of the Gannet attended?", []string{"gannet", "jory", "orrin"}},
	{"How high is the mountain on which Brack Observatory stands?", []string{"brack", "ysel"}},
	{"Where was Brack Observatory's founder born?", []string{"brack", "leontine"}},
	{"Where did the teacher of the founder of Brack Observatory die?", []string{"brack", "leontine", "bastian"}},
	{"Under whom did the founder of the Meridian Quartet study?", []string{"quartet", "ansgar"}},
	{"In which town was the person who taught the founder of the Meridian Quartet born?", []string{"quartet", "ansgar", "josef"}},
	{"How long is the river that rises on Mount Ysel?", []string{"ysel", "tave"}},
	{"Who set up the foundry that built the dome of Brack Observatory?", []string{"brack", "hobb"}},
	{"Which town is twinned with the place where Tamsin Roe died?", []string{"tamsin", "sable"}},
	{"Where is the school that the first editor of the Vey Herald attended?", []string{"herald", "maud", "orrin"}},
	{"Whom did the astronomer who directed Brack Observatory marry?", []string{"brack", "idris"}},
	{"Who was the master of Edmund Hobb?", []string{"edmund"}},
	{"How many inhabitants has the birthplace of the cellist Lucas Arden?", []string{"lucas", "quillan"}},
	{"Who is the husband of the founder of the Vey Herald?", []string{"herald", "wren"}},

	{"Where was the designer of Corran Light born?", nil},
	{"How many inhabitants has the birthplace of the designer of Corran Light?", nil},
	{"Which river flows through the town in which Tamsin Roe was born?", nil},
	{"Where was the keeper of Corran Light born?", nil},
	{"Where was the wife of the keeper of Corran Light born?", nil},
	{"Where did the husband of the designer of Corran Light die?", nil},
	{"Who owned Corran Light?", nil},
	{"Who built Corran Light?", nil},
	{"Where was the first editor of the Vey Herald born?", nil},
	{"Which school did the founder of the Vey Herald attend?", nil},
	{"Who is the mother of Wren Pell?", nil},
	{"Where was Wren Pell's husband born?", nil},
	{"Which town is the birthplace of Nils Corbet?", nil},
	{"What is the height of the mountain that Vera Molnar climbed?", nil},
	{"Where was the director of Brack Observatory born?", nil},
	{"Which opera did the director of Brack Observatory write?", nil},
	{"Who designed Brack Observatory?", nil},
	{"At which academy did Leontine Faure study?", nil},
	{"Who taught Leontine Faure's mother?", nil},
	{"Who was the teacher of Gerrit Vane?", nil},
	{"Where was the founder of the Meridian Quartet born?", nil},
	{"Where is the founder of the Meridian Quartet buried?", nil},
	{"How many inhabitants has the birthplace of the first captain of the Gannet?", nil},
	{"Which school did the owner of the Gannet attend?", nil},
	{"Who taught Ruth Ames?", nil},
	{"Whom did the first rector of the Polytechnic of Orne marry?", nil},
	{"Who founded the Polytechnic of Orne?", nil},
	{"In what year was the founder of Hobb and Sons born?", nil},
}

// Of a question that the pages answer, a part is found with all of them; of one that leads astray none is.
func TestResearchFindsWhatIsStated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, lighthouse...)
	answerable, right, wrong := 0, 0, 0
	for _, q := range lighthouseQuestions {
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: q.text}))
		found := !slices.ContainsFunc(res.Parts, func(p *ragdv1.ResearchPart) bool { return !p.Found })
		chain := foundURIs(res, 0)
		whole := q.pages != nil && !slices.ContainsFunc(q.pages, func(page string) bool { return !slices.Contains(chain, page) })
		switch {
		case whole && found:
			right++
		case found:
			wrong++
			t.Logf("%s: wrongly found in %v: %v", q.text, chain, res.Parts)
		case q.pages != nil:
			t.Logf("%s: not found in %v: %v", q.text, chain, res.Parts)
		}
		if q.pages != nil {
			answerable++
		}
	}
	if right < 16 || wrong > 0 {
		t.Errorf("%d questions are found rightly, want 16 or more; %d wrongly, want none", right, wrong)
	}
	t.Logf("of %d questions, %d of them answerable: %d rightly found, %d wrongly", len(lighthouseQuestions), answerable, right, wrong)
}
