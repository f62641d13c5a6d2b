//nolint:misspell // words of other languages
package grounding

import "strings"

// numbered returns the number of each word of lists: those of one language are separated by spaces, with / between words of the
// same number. The first has the number first.
func numbered(first int, lists ...string) map[string]int {
	all := map[string]int{}
	for _, list := range lists {
		for n, words := range strings.Fields(list) {
			for word := range strings.SplitSeq(words, "/") {
				all[word] = first + n
			}
		}
	}
	return all
}

// months are the names of months without accents, in languages of which no two have the same name for different months.
var months = numbered(1,
	"january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct november/nov december/dec",
	"januar/janner februar/feber marz april mai juni juli august september oktober/okt november dezember/dez",
	"janvier/janv fevrier/fevr mars avril/avr mai juin juillet/juil aout septembre octobre novembre decembre",
	"enero/ene febrero marzo abril/abr mayo junio julio agosto/ago septiembre/setiembre octubre noviembre diciembre/dic",
	"gennaio/gen febbraio marzo aprile maggio/mag giugno/giu luglio/lug agosto settembre/set ottobre/ott novembre dicembre",
	"janeiro fevereiro/fev marco abril maio junho julho agosto setembro outubro/out novembro dezembro",
	"januari februari maart/mrt april mei juni juli augustus september oktober november december",
	"januari februari mars april maj/maj juni/juni juli/juli augusti september oktober november december",
	"января/январь/январе февраля/февраль/феврале марта/март/марте апреля/апрель/апреле мая/маи/мае июня/июнь/июне июля/июль/июле августа/август/августе сентября/сентябрь/сентябре октября/октябрь/октябре ноября/ноябрь/ноябре декабря/декабрь/декабре",
	"stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia",
)

// unsureMonths are names of months that are words, too: they count beside a day or a year alone, or with a capital within a sentence
// where months have one.
var unsureMonths = setOf("march mar may mai mars jan jun jul sep set out dec dez dic gen mag lug ago ene okt oct apr feb fev abr nov mei maj mayo marzo maio")

// weekdays have Monday as 1.
var weekdays = numbered(1,
	"monday/mondays tuesday/tuesdays wednesday/wednesdays thursday/thursdays friday/fridays saturday/saturdays sunday/sundays",
	"montag/montags dienstag/dienstags mittwoch/mittwochs donnerstag/donnerstags freitag/freitags samstag/samstags/sonnabend sonntag/sonntags",
	"lundi/lundis mardi/mardis mercredi/mercredis jeudi/jeudis vendredi/vendredis samedi/samedis dimanche/dimanches",
	"lunes martes miercoles jueves viernes sabado/sabados domingo/domingos",
	"lunedi martedi mercoledi giovedi venerdi sabato domenica",
	"maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)

// numberWords are numbers as words, by language. Words with another meaning that is as frequent are left out.
var numberWords = map[string]map[string]int{
	"english":    withTens("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", "twenty thirty forty fifty sixty seventy eighty ninety"),
	"german":     withTens("ein/eins/eine/einen/einem/einer zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn", "zwanzig dreissig/dreißig vierzig funfzig sechzig siebzig achtzig neunzig"),
	"french":     withTens("un/une deux trois quatre cinq six sept huit - dix onze douze treize quatorze quinze seize", "vingt trente quarante cinquante soixante"),
	"spanish":    withTens("un/uno/una dos tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince", "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
	"italian":    withTens("un/uno/una due tre quattro cinque - sette otto nove dieci undici dodici tredici quattordici quindici", "venti trenta quaranta cinquanta sessanta settanta ottanta novanta"),
	"portuguese": withTens("um/uma dois/duas tres quatro cinco seis sete oito nove dez onze doze treze catorze quinze", "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"),
	"dutch":      withTens("een twee drie vier vijf zes zeven acht negen tien elf twaalf", "twintig dertig veertig vijftig zestig zeventig tachtig negentig"),
}

// severalMeanings are numbers of one language that mean something else in another.
var severalMeanings = setOf("once otto sept eine einen einem einer tres")

// withTens returns the numbers from 1 on, and the tens from 20 on.
func withTens(ones, tens string) map[string]int {
	all := numbered(1, ones)
	for n, words := range strings.Fields(tens) {
		for word := range strings.SplitSeq(words, "/") {
			all[word] = 20 + 10*n
		}
	}
	delete(all, "-")
	return all
}

// scales multiply the number before them. Those of billion differ by language.
var scales = scalesOf(map[float64]string{
	100:  "hundred hundert cento honderd",
	1000: "thousand thousands tausend tsd mille mila mil duizend тысяча тысячи тысяч тыс 千",
	1e4:  "万 萬",
	1e6:  "million millions mio millionen million_ millon millones milione milioni milhao milhoes miljoen mln миллион миллиона миллионов млн",
	1e8:  "億 亿",
	1e9:  "milliarde milliarden mrd milliard milliards miliardo miliardi miljard bn миллиард миллиарда миллиардов млрд",
})

func scalesOf(lists map[float64]string) map[string]float64 {
	all := map[string]float64{}
	for factor, words := range lists {
		for word := range strings.FieldsSeq(words) {
			all[word] = factor
		}
	}
	return all
}

// scaleOf returns what a word multiplies the number before it by.
func scaleOf(word, language string) (factor float64, ok bool) {
	switch word {
	case "billion", "billions":
		if language == "english" || language == "portuguese" {
			return 1e9, true
		}
		return 1e12, true
	case "billionen", "billones", "bilioni":
		return 1e12, true
	case "bilhao", "bilhoes":
		return 1e9, true
	}
	factor, ok = scales[word]
	return factor, ok
}

// unit is a unit of measure: factor of the first unit of its dimension.
type unit struct {
	dimension string
	factor    float64
}

var units = unitsOf(map[string]map[float64]string{
	"%":    {1: "% ％ percent prozent procent процент процента процентов"},
	"m":    {1: "m metre metres meter meters metern metro metros metri метр метра метров 米 メートル", 1e3: "km kilometre kilometres kilometer kilometers kilometern kilometro kilometros chilometro chilometri quilometro quilometros километр километра километров 公里 キロメートル", 1e-2: "cm centimetre centimetres centimeter centimeters zentimeter centimetro centimetros centimetri", 1e-3: "mm millimetre millimetres millimeter millimeters", 1609.344: "mi mile miles meile meilen", 0.3048: "ft foot feet", 0.0254: "inch inches zoll"},
	"g":    {1: "g gram grams gramm grammes gramme gramo gramos", 1e3: "kg kilogram kilograms kilogramm kilogrammes kilogramme kilo kilos kilogramo kilogramos chilogrammi 公斤 キロ", 1e-3: "mg milligram milligrams milligramm", 1e6: "t tonne tonnes tonnen tonnellate toneladas", 453.59237: "lb lbs pound_weight"},
	"s":    {1: "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondi секунда секунды секунд 秒", 60: "min mins minute minutes minuten minuto minutos minuti минута минуты минут 分钟 分", 3600: "h hr hrs hour hours stunde stunden heure heures hora horas ora ore uur час часа часов 小时 時間", 1e-3: "ms millisecond milliseconds millisekunden"},
	"day":  {1: "day days tag tage tagen jour jours dia dias giorno giorni dag dagen день дня дней 天 日間", 7: "week weeks woche wochen semaine semaines semana semanas settimana settimane weken неделя недели недель 周 週間"},
	"mon":  {1: "month months monat monate monaten mois mes meses mese mesi maand maanden месяц месяца месяцев 个月 か月 ヶ月", 12: "year years jahr jahre jahren ans annee annees año años anno anni ano anos jaar год года лет"},
	"byte": {1: "byte bytes", 1e3: "kb kilobyte kilobytes", 1e6: "mb megabyte megabytes", 1e9: "gb gigabyte gigabytes", 1e12: "tb terabyte terabytes", 1024: "kib", 1 << 20: "mib", 1 << 30: "gib"},
	"w":    {1: "w watt watts", 1e3: "kw kilowatt kilowatts", 1e6: "mw megawatt megawatts"},
	"l":    {1: "l litre litres liter liters litern litro litros litri литр литра литров", 1e-3: "ml millilitre millilitres milliliter milliliters"},
	"v":    {1: "v volt volts", 1e3: "kv"},
	"eur":  {1: "€ eur euro euros евро ユーロ 欧元"},
	"usd":  {1: "$ usd dollar dollars dolares dollari долларов 美元 ドル"},
	"gbp":  {1: "£ gbp"},
	"jpy":  {1: "¥ jpy yen 円 日元"},
	"cny":  {1: "cny rmb yuan 元 人民币"},
	"chf":  {1: "chf franken"},
	"rub":  {1: "₽ rub рубль рубля рублей руб"},
	"degc": {1: "°c celsius"},
	"degf": {1: "°f fahrenheit"},
})

func unitsOf(dimensions map[string]map[float64]string) map[string]unit {
	all := map[string]unit{}
	for dimension, factors := range dimensions {
		for factor, words := range factors {
			for word := range strings.FieldsSeq(words) {
				all[word] = unit{dimension, factor}
			}
		}
	}
	return all
}

// ordinals are what follows a number that counts places.
var ordinals = setOf("st nd rd th er re e eme ere te ten º ª й я е го x s")

// rates say for how much time something is, as articles do weakly.
var (
	rates     = setOf("per pro je par por")
	weakRates = setOf("a an each every al am im in jede jeden jedes chaque cada ogni")
)

// counters follow a Chinese or Japanese number of one character.
const counters = "个個名人年月日台件種种回次度倍位家岁歳本枚匹階层層天票册冊部只隻所座条項项段章頁页点點分秒小時时週周"

// negations deny what is around them, by language. Those of English count in languages without a list.
var negations = map[string]map[string]bool{
	"english":    setOf("not no never without cannot neither nor none n't nobody nothing"),
	"german":     setOf("nicht kein keine keinen keinem keiner keines nie niemals ohne weder niemand nichts"),
	"french":     setOf("pas jamais sans aucun aucune ni rien personne"),
	"spanish":    setOf("no nunca sin ningun ninguno ninguna jamas tampoco"),
	"italian":    setOf("non senza nessun nessuno nessuna neppure"),
	"portuguese": setOf("nao nunca sem nenhum nenhuma jamais"),
	"dutch":      setOf("niet geen nooit zonder"),
	"danish":     setOf("ikke ingen aldrig uden"),
	"norwegian":  setOf("ikke ingen aldri uten"),
	"swedish":    setOf("inte ingen inga aldrig utan"),
	"russian":    setOf("не нет никогда без ни"),
	"polish":     setOf("nie bez nigdy"),
	"turkish":    setOf("degil yok"),
}

// unspacedNegations are those of Chinese, before what they deny, and of Japanese, behind it.
var (
	before = []string{"没有", "沒有", "不", "未", "没", "无", "無", "非"}
	behind = []string{"ません", "ない", "なかった", "なく"}
	// harmless have one of them and deny nothing.
	harmless = []string{"不同", "不仅", "不僅", "不但", "不过", "不過", "不断", "不斷", "未来", "未來", "非常", "无线", "無線", "不久", "少ない", "少なく", "なければなりません", "なければならない", "かもしれません", "では ない", "だけでなく", "無料", "无论", "無論", "是非", "非営利", "不動産"}
)

// notOnly begins what denies nothing after a negation.
var notOnly = setOf("only nur seulement solo solamente so apenas alleen bara bare только just")

// approximate say that a number is rounded.
var approximate = setOf("about around roughly nearly almost approximately over more some rund etwa circa ca ungefahr fast knapp uber environ pres presque unos unas casi aproximadamente cerca quasi около почти примерно ongeveer 约 約 大约")

// What stands around names: German prepositions before them, titles, and verbs in the singular behind them.
var (
	germanPlaces = setOf("in aus nach von bei durch fur gegen an")
	titles       = setOf("herr herrn frau dr prof mr mrs ms sir lord lady king queen president firma madame monsieur senor senora signor signora don dona")
	// determiners begin sentences and are no names, where no list of stop words has them.
	determiners   = setOf("cada ogni chaque tout toute tous toutes todo toda todos todas tutti tutte qualche alguns every each many several one two during after before while cuando quando dopo después depois alle jede jeder jedes viele mehrere noch seit unterwegs")
	sentenceVerbs = setOf("ist war hat wurde wird kann leitet grundete fuhrt soll darf")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
