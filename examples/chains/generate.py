"""Writes corpus.jsonl, queries.jsonl and qrels.tsv of the set that README.md describes, beside itself.

Everything is drawn from one seeded generator, so that each run writes the same bytes.
"""

import json
import pathlib
import random

draw = random.Random(20260)
here = pathlib.Path(__file__).parent


# Names.

starts = "Bel Cor Dra Fen Gal Hal Jor Kel Lor Mar Nev Ost Pel Quil Ras Sel Tor Ul Var Wen Yst Zar Bren Cal Dun Esk Fal Gor Hest Ing Kar Lin Mor Nor Orm Pra Rin Skar Tel Vin".split()
middles = "a e i o u an en er il on ar em ol is".split()
ends = "dra gen holm ka lin mar nas rit sel tha vik wen bor dun fell gard ne ster ton ver mund".split()
first_names = "Ada Anton Berit Bruno Clara Conrad Dora Emil Edda Frida Georg Greta Hanno Ilse Ivar Jonas Karla Klaus Lene Ludvig Magda Mattis Nora Oskar Paula Petrus Ragna Rolf Signe Stellan Thea Tobias Ulla Viktor Wanda".split()
used = set()


def coined():
    while True:
        name = draw.choice(starts) + draw.choice(middles) + draw.choice(ends)
        if name not in used:
            used.add(name)
            return name


families = [coined() for _ in range(55)]


def person_name():
    while True:
        name = draw.choice(first_names) + " " + draw.choice(families)
        if name not in used:
            used.add(name)
            return name


class Entity:
    """A thing with a page. Its facts are other entities or values, by relation."""

    def __init__(self, kind, title):
        self.kind, self.title, self.facts, self.date = kind, title, {}, None
        self.id = f"{kind}/{title.lower().replace(' ', '-')}"

    def __getitem__(self, relation):
        return self.facts[relation]


def make(kind, count, title):
    return [Entity(kind, title()) for _ in range(count)]


rivers = make("rivers", 18, lambda: coined())
mountains = make("mountains", 10, lambda: "Mount " + coined())
towns = make("towns", 34, lambda: coined())
persons = make("persons", 150, person_name)
schools = make("schools", 14, lambda: coined() + " " + draw.choice(["Academy", "College", "Institute"]))
yards = make("yards", 22, lambda: coined() + " " + draw.choice(["Works", "Slips", "Brothers", "and Sons"]))
ships = make("ships", 64, lambda: coined() + draw.choice(["", " II", ""]))
publishers = make("publishers", 14, lambda: coined() + " " + draw.choice(["Press", "House", "Editions"]))
nouns = ["Almanac", "Orchard", "Lantern", "Ledger", "Winter", "Ferryman", "Garden", "Compass", "Harvest", "Mirror", "Bell", "Tide"]
colours = ["Salt", "Quiet", "Seventh", "Copper", "Hollow", "Northern", "Blue", "Broken", "Last", "Paper", "Silver", "Long"]


def work_title():
    while True:
        name = f"The {draw.choice(colours)} {draw.choice(nouns)}"
        if name not in used:
            used.add(name)
            return name


books = make("books", 46, work_title)
paintings = make("paintings", 46, work_title)
bridges = make("bridges", 32, lambda: coined() + " Bridge")
museums = make("museums", 18, lambda: coined() + " " + draw.choice(["Museum", "Gallery", "Collection"]))

months = "January February March April May June July August September October November December".split()


def day(low, high):
    return draw.randint(low, high), draw.randint(1, 12), draw.randint(1, 28)


def spoken(date):
    return f"{date[2]} {months[date[1] - 1]} {date[0]}"


def other(all_of_kind, *but):
    return draw.choice([e for e in all_of_kind if e not in but])


# Facts.

for e in rivers:
    e.facts = {"source": draw.choice(mountains), "length": draw.randint(60, 640), "meets": other(rivers, e)}
for e in mountains:
    e.facts = {"height": draw.randint(900, 3900), "climber": draw.choice(persons), "year": draw.randint(1820, 1900), "near": draw.choice(towns)}
for e in towns:
    e.facts = {"river": draw.choice(rivers), "twin": other(towns, e), "mayor": draw.choice(persons), "people": draw.randint(4, 190) * 1000, "market": draw.choice(persons)}
for e in schools:
    e.facts = {"town": draw.choice(towns), "head": draw.choice(persons), "year": draw.randint(1700, 1850), "donor": draw.choice(persons)}
for e in persons:
    e.facts = {
        "born_in": draw.choice(towns), "born": day(1790, 1870), "teacher": other(persons, e), "school": draw.choice(schools),
        "spouse": other(persons, e), "died_in": draw.choice(towns), "friend": other(persons, e),
    }
    e.facts["died"] = day(e["born"][0] + 40, e["born"][0] + 88)
for e in yards:
    e.facts = {"town": draw.choice(towns), "founder": draw.choice(persons), "year": draw.randint(1830, 1880), "manager": draw.choice(persons), "rival": other(yards, e)}
for e in ships:
    e.facts = {"yard": draw.choice(yards), "captain": draw.choice(persons), "owner": draw.choice(persons), "port": draw.choice(towns), "launched": day(1850, 1915), "wreck": draw.choice(rivers)}
for e in publishers:
    e.facts = {"town": draw.choice(towns), "founder": draw.choice(persons), "year": draw.randint(1790, 1880), "editor": draw.choice(persons)}
for e in books:
    e.facts = {"author": draw.choice(persons), "publisher": draw.choice(publishers), "about": draw.choice(ships), "printed": day(1830, 1915), "critic": draw.choice(persons), "set_in": draw.choice(towns)}
for e in museums:
    e.facts = {"town": draw.choice(towns), "director": draw.choice(persons), "architect": draw.choice(persons), "opened": day(1850, 1920), "donor": draw.choice(persons)}
for e in paintings:
    e.facts = {"painter": draw.choice(persons), "museum": draw.choice(museums), "shows": draw.choice(bridges), "painted": draw.randint(1830, 1915), "buyer": draw.choice(persons)}
for e in bridges:
    e.facts = {"engineer": draw.choice(persons), "river": draw.choice(rivers), "town": draw.choice(towns), "opened": day(1840, 1915), "opener": draw.choice(persons), "steel": draw.choice(yards)}


# Pages. Each fact has several wordings, and each page names more things than one needs.

def pick(*wordings):
    return draw.choice(wordings)


def page(e):
    f = e.facts
    t = {k: v.title for k, v in f.items() if isinstance(v, Entity)}
    n = e.title
    if e.kind == "rivers":
        s = [pick(f"The {n} runs for {f['length']} kilometres.", f"The {n} is a stream of {f['length']} kilometres."),
             pick(f"It springs from the slopes of {t['source']}.", f"Its source is high on {t['source']}."),
             pick(f"After the lowlands it joins the {t['meets']}.", f"The {t['meets']} takes up its water."),
             "Rafts of timber went down it until the railway came, and eel traps line the lower banks."]
    elif e.kind == "mountains":
        s = [f"{n} is {f['height']} metres high.", pick(f"{t['climber']} first stood on its top in {f['year']}.", f"The first ascent, in {f['year']}, was made by {t['climber']}."),
             f"Guides wait at {t['near']}, a day's ride away.", "Snow lies on the northern ridge well into June."]
    elif e.kind == "towns":
        s = [pick(f"{n} stands on the banks of the {t['river']}.", f"{n} lies where the road crosses the {t['river']}.", f"Through {n} flows the {t['river']}."),
             f"It counts {f['people']:,} people.", pick(f"{t['mayor']} was its mayor for twelve years.", f"As mayor, {t['mayor']} had the walls taken down."),
             pick(f"It is twinned with {t['twin']}.", f"A partnership ties it to {t['twin']}."), f"The covered market was a gift of {t['market']}."]
    elif e.kind == "schools":
        s = [pick(f"{n} opened its doors in {t['town']} in {f['year']}.", f"Since {f['year']} {n} has taught in {t['town']}."), f"{t['head']} led it through the war years.", f"The library carries the name of {t['donor']}.",
             "Navigation, surveying and drawing are its old subjects."]
    elif e.kind == "persons":
        s = [pick(f"{n} ({spoken(f['born'])} – {spoken(f['died'])}) came into the world at {t['born_in']}.", f"{n}, born in {t['born_in']} on {spoken(f['born'])}, lived until {spoken(f['died'])}.", f"{n} was a native of {t['born_in']} (* {spoken(f['born'])}; † {spoken(f['died'])})."),
             pick(f"The years at {t['school']} were followed by an apprenticeship with {t['teacher']}.", f"After {t['school']}, {t['teacher']} took the young talent on as a pupil.", f"{t['teacher']} was the teacher who mattered most, after dull terms at {t['school']}."),
             pick(f"A marriage with {t['spouse']} brought three children.", f"{t['spouse']} shared the household as spouse for thirty years."),
             pick(f"Letters to {t['friend']} survive.", f"{t['friend']} gave the funeral speech."), pick(f"The end came in {t['died_in']}.", f"The last years passed in {t['died_in']}.")]
    elif e.kind == "yards":
        s = [pick(f"{n} is a shipbuilder in {t['town']}.", f"The slipways of {n} are in {t['town']}."), pick(f"{t['founder']} set it up in {f['year']}.", f"It was founded in {f['year']} by {t['founder']}.", f"The firm goes back to {t['founder']}, who began in {f['year']}."),
             f"{t['manager']} ran the drawing office.", pick(f"Its old competitor is {t['rival']}.", f"Orders were often lost to {t['rival']}."), "A fire in the rope loft cost it half a season."]
    elif e.kind == "ships":
        s = [pick(f"The {n} left the slips of {t['yard']} on {spoken(f['launched'])}.", f"On {spoken(f['launched'])} {t['yard']} launched the {n}.", f"The {n} was laid down at {t['yard']} and took to the water on {spoken(f['launched'])}."),
             pick(f"{t['captain']} had the command for nine years.", f"Her captain was {t['captain']}."), pick(f"She belonged to {t['owner']}.", f"{t['owner']} paid for her."), pick(f"Her home port was {t['port']}.", f"She was registered at {t['port']}."),
             f"She ran aground once, at the mouth of the {t['wreck']}."]
    elif e.kind == "publishers":
        s = [pick(f"{n} prints and sells books in {t['town']}.", f"{n} has its presses in {t['town']}."), pick(f"{t['founder']} started the business in {f['year']}.", f"It was founded by {t['founder']} in {f['year']}."), f"{t['editor']} read the manuscripts for two decades.", "Its yellow covers were sold at railway stations."]
    elif e.kind == "books":
        s = [pick(f"{n} is a novel by {t['author']}.", f"{t['author']} wrote the novel {n}.", f"{n} came from the pen of {t['author']}."), pick(f"{t['publisher']} brought it out on {spoken(f['printed'])}.", f"It appeared with {t['publisher']} on {spoken(f['printed'])}."),
             f"Its plot follows a stowaway on the {t['about']}.", f"Much of it plays in {t['set_in']}.", f"{t['critic']} reviewed it without mercy."]
    elif e.kind == "museums":
        s = [pick(f"{n} is open to visitors in {t['town']}.", f"In {t['town']} stands {n}."), pick(f"{t['architect']} drew the plans of the house.", f"The house was designed by {t['architect']}."), pick(f"{t['director']} directed it from the start.", f"Its first director was {t['director']}."),
             f"It was inaugurated on {spoken(f['opened'])}.", f"The coin cabinet comes from {t['donor']}."]
    elif e.kind == "paintings":
        s = [pick(f"{n} is a canvas by {t['painter']} of {f['painted']}.", f"{t['painter']} finished the canvas {n} in {f['painted']}."), pick(f"It hangs in {t['museum']}.", f"{t['museum']} keeps it."), pick(f"It shows the {t['shows']} in fog.", f"One sees the {t['shows']} at dusk."), f"{t['buyer']} was its first owner."]
    elif e.kind == "bridges":
        s = [pick(f"The {n} spans the {t['river']}.", f"The {n} carries the road over the {t['river']}."), f"It is on the way into {t['town']}.", pick(f"{t['engineer']} engineered it.", f"Its engineer was {t['engineer']}.", f"{t['engineer']} was responsible for the design."),
             pick(f"{t['opener']} cut the ribbon on {spoken(f['opened'])}.", f"Traffic began on {spoken(f['opened'])}, with a speech by {t['opener']}."), f"The girders were riveted by {t['steel']}."]
    first, rest = s[0], s[1:]
    draw.shuffle(rest)
    return " ".join([first, *rest])


kinds = [rivers, mountains, towns, persons, schools, yards, ships, publishers, books, museums, paintings, bridges]
pages = [(e.id, e.title, page(e), {"kind": e.kind}) for kind in kinds for e in kind]

# Yearly reports, which differ in little but the year and what is named.
reports = []
for town in draw.sample(towns, 6):
    for year in draw.sample(range(1860, 1915), 8):
        date = (year, draw.randint(1, 12), draw.randint(1, 28))
        speaker, winner = draw.choice(persons), draw.choice(ships)
        title = f"Regatta of {town.title}, {year}"
        text = (f"The yearly regatta of {town.title} was held on {spoken(date)}. The trophy went to the {winner.title}. "
                f"{speaker.title} handed it over. {draw.randint(9, 40)} boats had entered, and the wind was {draw.choice(['light', 'fresh', 'gusty'])}.")
        id = f"reports/{town.title.lower()}-{year}"
        reports.append((id, town, year, speaker, winner))
        pages.append((id, title, text, {"kind": "reports", "date": f"{date[0]}-{date[1]:02}-{date[2]:02}"}))


# Questions. A clue is how a question speaks of an entity that it does not name, with the pages that tell which one it is.

class Clue:
    def __init__(self, entity, words, pages):
        self.entity, self.words, self.pages = entity, words, pages


def named(e):
    article = "the " if e.kind in ("ships", "rivers", "bridges") else ""
    label = {"ships": "", "books": "the novel ", "paintings": "the canvas "}.get(e.kind, "")
    return Clue(e, label + article + e.title if not label else label + e.title, [])


relations = {
    ("ships", "yard"): ["the yard that built {}", "the firm where {} was constructed"],
    ("ships", "captain"): ["the captain of {}", "whoever commanded {}"],
    ("ships", "owner"): ["the owner of {}"],
    ("yards", "founder"): ["the founder of {}", "the person who established {}"],
    ("yards", "manager"): ["the manager of the drawing office at {}"],
    ("yards", "town"): ["the town where {} is based"],
    ("books", "author"): ["the author of {}", "the writer of {}"],
    ("books", "publisher"): ["the publisher of {}", "the house that issued {}"],
    ("books", "about"): ["the ship on which {} is set"],
    ("publishers", "founder"): ["the founder of {}", "whoever established {}"],
    ("paintings", "painter"): ["the painter of {}", "the artist behind {}"],
    ("paintings", "museum"): ["the museum that holds {}"],
    ("paintings", "shows"): ["the bridge depicted in {}"],
    ("bridges", "engineer"): ["the designer of {}", "the engineer of {}"],
    ("museums", "director"): ["the first director of {}"],
    ("museums", "architect"): ["the architect of {}"],
    ("persons", "teacher"): ["the teacher of {}", "the master who trained {}"],
    ("persons", "spouse"): ["the person whom {} married", "the spouse of {}"],
    ("persons", "born_in"): ["the birthplace of {}", "the town where {} was born"],
    ("persons", "school"): ["the school that {} attended"],
    ("schools", "town"): ["the town of {}", "the place where {} is located"],
    ("towns", "river"): ["the river at {}", "the river on which one finds {}"],
    ("bridges", "river"): ["the river that {} crosses"],
    ("rivers", "source"): ["the mountain where {} rises"],
}

values = {
    "persons": [("born_in", "Where was {} born?"), ("died_in", "In which town did {} die?"), ("teacher", "Under whom did {} learn?"), ("school", "Which school did {} attend?"), ("spouse", "Whom did {} marry?")],
    "towns": [("river", "On which river does {} lie?"), ("people", "How many inhabitants has {}?"), ("twin", "What is the partner town of {}?")],
    "rivers": [("source", "On which mountain does {} rise?"), ("length", "How long is {}?")],
    "mountains": [("climber", "Who climbed {} first?"), ("height", "What is the height of {}?")],
    "schools": [("town", "In which town is {}?")],
    "yards": [("founder", "Who established {}?"), ("rival", "Which firm competed with {}?")],
    "publishers": [("founder", "Who established {}?"), ("town", "Where is {} based?")],
    "museums": [("architect", "Who was the architect of {}?")],
    "bridges": [("engineer", "Who designed {}?"), ("river", "Which river does {} cross?")],
    "ships": [("captain", "Who commanded {}?")],
}


def follow(clue, avoid=()):
    options = [r for (kind, r) in relations if kind == clue.entity.kind and clue.entity[r] not in avoid]
    if not options:
        return None
    r = draw.choice(options)
    return Clue(clue.entity[r], draw.choice(relations[clue.entity.kind, r]).format(clue.words), clue.pages + [clue.entity.id])


def shown(value):
    if isinstance(value, Entity):
        return value.title
    return spoken(value) if isinstance(value, tuple) else str(value)


def chain(hops):
    """A question about what is hops pages away, the answer's page included."""
    while True:
        clue = named(draw.choice(draw.choice([ships, books, paintings, bridges, yards, museums])))
        passed = [clue.entity]
        for _ in range(hops - 1):
            clue = follow(clue, passed)
            if clue is None:
                break
            passed.append(clue.entity)
        if clue is None or clue.entity.kind not in values:
            continue
        relation, wording = draw.choice(values[clue.entity.kind])
        if clue.entity[relation] in passed:
            continue
        evidence = clue.pages + [clue.entity.id]
        if len(set(evidence)) == hops:
            return wording.format(clue.words), evidence, shown(clue.entity[relation])


def person_of(e):
    r = {"ships": ["captain", "owner"], "books": ["author"], "paintings": ["painter"], "bridges": ["engineer"], "museums": ["architect", "director"], "yards": ["founder"], "publishers": ["founder"]}[e.kind]
    return draw.choice(r)


def enumerated(texts):
    return ", ".join(texts[:-1]) + (" and " if len(texts) > 1 else "") + texts[-1]


def compare(count):
    """A comparison of persons whom the question knows by their works."""
    kind = draw.choice([ships, books, paintings, bridges])
    chosen = draw.sample(kind, count)
    relation = person_of(chosen[0])
    people = [e[relation] for e in chosen]
    if len(set(people)) < count:
        return compare(count)
    extra = [] if count == 3 or draw.random() < 0.5 else ["teacher"]
    evidence = []
    for e, p in zip(chosen, people):
        evidence += [e.id, p.id] + ([p["teacher"].id] if extra else [])
    compared = [p["teacher"] if extra else p for p in people]
    if len(set(evidence)) != len(evidence):
        return compare(count)
    noun = {"ships": "ship", "books": "novel", "paintings": "canvas", "bridges": "bridge"}[chosen[0].kind]
    role = {"captain": "captain", "owner": "owner", "author": "author", "painter": "painter", "engineer": "engineer"}[relation]
    titles = [e.title for e in chosen]
    whose = f"the teacher of whose {role}" if extra else f"whose {role}"
    end, best = draw.choice([("was born first", min), ("was the youngest", max)]) if count == 3 else draw.choice([("was born earlier", min), ("was born later", max)])
    right = titles[compared.index(best(compared, key=lambda p: p["born"]))]
    if count == 3:
        return f"Which of {enumerated(titles)} is the {noun} {whose} {end}?", evidence, right
    return draw.choice([f"Which {noun} is the one {whose} {end}, {titles[0]} or {titles[1]}?", f"Of {titles[0]} and {titles[1]}, which is the {noun} {whose} {end}?"]), evidence, right


def lower(text):
    return text[0].lower() + text[1:]


def conjunction():
    a, b = chain(draw.choice([2, 3])), chain(3)
    evidence = a[1] + b[1]
    if len(set(evidence)) != len(evidence):
        return conjunction()
    return f"{a[0].rstrip('?')}, and {lower(b[0])}", evidence, f"{a[2]}; {b[2]}"


def dated():
    id, town, year, speaker, winner = draw.choice(reports)
    who = draw.choice([True, False])
    clue = Clue(speaker if who else winner, (f"the person who presented the prize at the {year} boat race in {town.title}" if who else f"the boat that won in {town.title} in {year}"), [id])
    while True:
        longer = clue
        for _ in range(draw.choice([0, 1]) if who else 1):
            longer = follow(longer)
        if longer and longer.entity.kind in values:
            break
    relation, wording = draw.choice(values[longer.entity.kind])
    evidence = longer.pages + [longer.entity.id]
    if len(set(evidence)) != len(evidence):
        return dated()
    return wording.format(longer.words), evidence, shown(longer.entity[relation])


kinds_of_question = [("three hops", 36, lambda: chain(3)), ("four hops", 34, lambda: chain(4)), ("compare two", 30, lambda: compare(2)), ("compare three", 20, lambda: compare(3)), ("conjunction", 30, conjunction), ("dated", 20, dated)]
questions, asked = [], set()
for kind, count, ask in kinds_of_question:
    while count:
        text, evidence, answer = ask()
        if text in asked:
            continue
        asked.add(text)
        count -= 1
        questions.append((f"c{len(questions) + 1:03}", text, {"answer": answer, "kind": kind, "gold": len(evidence), "part": "held-out" if count % 2 else "tuning"}, evidence))

with open(here / "corpus.jsonl", "w") as out:
    for id, title, text, metadata in sorted(pages):
        out.write(json.dumps({"id": id, "title": title, "text": text, "metadata": metadata}, ensure_ascii=False) + "\n")
with open(here / "queries.jsonl", "w") as out:
    for id, text, metadata, _ in questions:
        out.write(json.dumps({"id": id, "text": text, "metadata": metadata}, ensure_ascii=False) + "\n")
with open(here / "qrels.tsv", "w") as out:
    out.write("query_id\tdoc_id\trelevance\n")
    for id, _, _, evidence in questions:
        for page_id in evidence:
            out.write(f"{id}\t{page_id}\t1\n")
