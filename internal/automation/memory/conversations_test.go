package memory_test

import (
	"fmt"
	"time"
)

// told is what a user of made-up conversations has told: a memory, and the number of the one that it updates.
type told struct {
	text    string
	from    time.Time
	updates int // -1 for none
}

// asked is a question about what was told.
type asked struct {
	kind     string // fact, preference, update, past, absent
	question string
	at       time.Time // zero: now
	answer   int       // of told; -1: none answers
}

// topic is something that a user tells, in words that its question does not repeat one by one.
type topic struct {
	kind, tells, asks string
	values            []string
}

// topics are told by the user, with one of the values, unless they are left out: then their question has no answer.
var topics = []topic{
	{"fact", "My dog is called %s.", "What is the name of my dog?", []string{"Bruno", "Kira", "Oskar"}},
	{"fact", "My sister works as a %s in a hospital.", "What is my sister's job?", []string{"nurse", "surgeon", "midwife"}},
	{"fact", "I drive a %s to the office.", "Which car do I drive?", []string{"Skoda", "Volvo", "Peugeot"}},
	{"fact", "I was born in %s.", "Where was I born?", []string{"Lisbon", "Tallinn", "Porto"}},
	{"fact", "I studied %s at university.", "What did I study?", []string{"geology", "law", "chemistry"}},
	{"fact", "My bicycle was stolen at the %s.", "Where was my bicycle stolen?", []string{"station", "library", "harbour"}},
	{"fact", "I am allergic to %s.", "What allergies do I have?", []string{"peanuts", "shellfish", "pollen"}},
	{"fact", "My daughter goes to the %s school.", "Which school does my daughter attend?", []string{"Montessori", "Waldorf", "Lindgren"}},
	{"fact", "The licence plate of my van is %s.", "What is the licence plate of my van?", []string{"KL 4711", "HX 2093", "BR 8852"}},
	{"fact", "My landlord is %s.", "Who is my landlord?", []string{"Mr Okafor", "Mrs Lindqvist", "Dr Haddad"}},
	{"fact", "I have played the %s since childhood.", "Which instrument do I play?", []string{"cello", "oboe", "accordion"}},
	{"fact", "My passport expires in %s.", "When does my passport expire?", []string{"March 2031", "May 2029", "October 2030"}},
	{"fact", "I keep the spare key %s.", "Where is the spare key?", []string{"under the flowerpot", "in the shed", "with my neighbour"}},
	{"fact", "My insurance policy has the number %s.", "What is the number of my insurance policy?", []string{"7731-A", "5520-C", "9184-F"}},
	{"fact", "Our wedding was on %s.", "When was our wedding?", []string{"the second of June", "the ninth of August", "the first of May"}},
	{"fact", "My cat takes a %s tablet every evening.", "What medicine does my cat get?", []string{"thyroid", "kidney", "heart"}},
	{"fact", "My grandfather was a %s.", "What did my grandfather do for a living?", []string{"fisherman", "tailor", "miner"}},
	{"fact", "My house has %s rooms.", "How many rooms does my house have?", []string{"four", "six", "nine"}},
	{"fact", "My car broke down near %s.", "Where did my car break down?", []string{"Verona", "Bergen", "Cork"}},
	{"fact", "My best friend is %s.", "Who is my best friend?", []string{"Leonie", "Rahul", "Matteo"}},
	{"preference", "I like my coffee %s.", "How do I take my coffee?", []string{"black", "with oat milk", "with two sugars"}},
	{"preference", "On a plane I want to sit %s.", "Which seat do I prefer on flights?", []string{"by the window", "on the aisle", "near the exit"}},
	{"preference", "Please write to me in %s.", "In which language should you write to me?", []string{"Portuguese", "Estonian", "Dutch"}},
	{"preference", "I prefer %s meetings.", "What kind of meetings do I prefer?", []string{"short morning", "afternoon", "standing"}},
	{"preference", "My favourite composer is %s.", "Who is my favourite composer?", []string{"Schubert", "Ravel", "Sibelius"}},
	{"preference", "I never eat %s.", "Which food do I not eat?", []string{"mushrooms", "olives", "liver"}},
	{"preference", "I want reports as %s.", "In which format do I want reports?", []string{"a spreadsheet", "plain text", "slides"}},
	{"preference", "I like to run %s.", "When do I like to go running?", []string{"before breakfast", "late at night", "at noon"}},
	{"preference", "Call me %s, not by my full name.", "How should I be addressed?", []string{"Max", "Lou", "Kit"}},
	{"preference", "My favourite colour is %s.", "Which colour do I like best?", []string{"turquoise", "crimson", "ochre"}},
	{"preference", "I read %s novels in the evening.", "What novels do I like to read?", []string{"crime", "historical", "science fiction"}},
	{"preference", "I want the heating at %s degrees.", "What temperature do I want the heating at?", []string{"nineteen", "twenty-one", "eighteen"}},
	{"update", "I live in %s.", "In which city do I live?", []string{"Ghent", "Malmo", "Graz"}},
	{"update", "I work for %s.", "Which company do I work for?", []string{"Northwind", "Contoso", "Fabrikam"}},
	{"update", "My phone number is %s.", "What is my phone number?", []string{"555-0101", "555-0144", "555-0187"}},
	{"update", "My manager is %s.", "Who is my manager?", []string{"Ingrid", "Tomasz", "Wanjiru"}},
	{"update", "I am training for a %s.", "What am I training for?", []string{"half marathon", "triathlon", "rowing race"}},
	{"update", "My subscription is the %s plan.", "Which subscription plan do I have?", []string{"basic", "family", "premium"}},
	{"update", "I take the %s to work.", "How do I commute to work?", []string{"tram", "ferry", "night bus"}},
	{"update", "My project is called %s.", "What is the name of my project?", []string{"Heron", "Juniper", "Basalt"}},
	{"update", "I am learning %s.", "What language am I learning?", []string{"Finnish", "Arabic", "Korean"}},
	{"update", "My doctor is %s.", "Who is my doctor?", []string{"Dr Amari", "Dr Novak", "Dr Silva"}},
	{"update", "My gym membership is at %s.", "Where is my gym?", []string{"Iron Hall", "Pulse", "Riverside"}},
	{"update", "The deadline of my thesis is in %s.", "When is the deadline of my thesis?", []string{"April", "July", "November"}},
	{"absent", "", "What is my blood type?", nil},
	{"absent", "", "Which football team do I support?", nil},
	{"absent", "", "What is the name of my grandmother?", nil},
	{"absent", "", "What did I pay for my laptop?", nil},
	{"absent", "", "Which dentist treats me?", nil},
	{"absent", "", "How tall am I?", nil},
	{"absent", "", "What is my shoe size?", nil},
	{"absent", "", "Where did we go on our honeymoon?", nil},
	{"absent", "", "Which bank do I use?", nil},
	{"absent", "", "What is my favourite film?", nil},
	{"absent", "", "Who is my lawyer?", nil},
	{"absent", "", "What is the password of the wifi?", nil},
	{"absent", "", "Which church do I attend?", nil},
	{"absent", "", "What is my star sign?", nil},
	{"absent", "", "What is the name of my boat?", nil},
	{"absent", "", "Which political party do I vote for?", nil},
	{"absent", "", "What did the plumber repair?", nil},
	{"absent", "", "Who painted the picture in my hall?", nil},
	{"absent", "", "How many grandchildren do I have?", nil},
	{"absent", "", "What breed are my horses?", nil},
}

// began is when the first conversation takes place.
var began = time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)

// conversations returns n memories and what is asked. Beyond the topics they are chatter, by rule; few memories leave topics out.
func conversations(n int) (memories []told, questions []asked) {
	for i, t := range topics {
		at := began.AddDate(0, 0, i)
		if t.kind == "update" && len(memories)+len(t.values) > n {
			continue
		}
		switch t.kind {
		case "absent":
			questions = append(questions, asked{"absent", t.asks, time.Time{}, -1})
		case "update":
			first := len(memories)
			for v, value := range t.values {
				told := told{fmt.Sprintf(t.tells, value), at.AddDate(0, 4*v, 0), -1}
				if v > 0 {
					told.updates = len(memories) - 1
				}
				memories = append(memories, told)
			}
			questions = append(questions, asked{"update", t.asks, time.Time{}, first + 2})
			for v := range 2 {
				questions = append(questions, asked{"past", t.asks, at.AddDate(0, 4*v+2, 0), first + v})
			}
			questions = append(questions, asked{"before", t.asks, at.AddDate(0, 0, -1), -1})
		default:
			questions = append(questions, asked{t.kind, t.asks, time.Time{}, len(memories)})
			memories = append(memories, told{fmt.Sprintf(t.tells, t.values[i%len(t.values)]), at, -1})
		}
	}
	for i := 0; len(memories) < n; i++ {
		memories = append(memories, told{chatter(i), began.AddDate(0, 0, i%300), -1})
	}
	return memories, questions
}

// chatter returns a text about the user that answers none of the questions. Up to 8,000 numbers have different texts.
func chatter(i int) string {
	people := []string{"my colleague Ana", "my uncle", "the neighbour", "my friend Piet", "our accountant", "my cousin", "the gardener", "my teammate Yuki", "an old classmate", "the baker"}
	did := []string{
		"talked with %s about %s", "went with %s to see %s", "wrote to %s because of %s", "had lunch with %s and discussed %s",
		"lent %s a book on %s", "promised %s to help with %s", "argued with %s about %s", "planned with %s something around %s",
	}
	about := []string{
		"the roof", "tax forms", "old maps", "the garden fence", "a bread recipe", "the election", "bird watching", "a broken printer", "the holiday calendar", "pottery",
		"the village fair", "solar panels", "the choir", "a leaking pipe", "chess openings", "the flea market", "a museum", "bee keeping", "the budget", "road works",
		"knitting", "a sailing trip", "the stairs", "weather", "a podcast", "lost luggage", "the orchard", "a concert", "train delays", "the attic",
	}
	when := []string{"this morning", "last week", "in spring", "on Sunday"}
	p, d, a, w := people[i%len(people)], did[i/len(people)%len(did)], about[(i*7+i/80)%len(about)], when[i/240%len(when)]
	return "I " + fmt.Sprintf(d, p, a) + " " + w + "."
}
