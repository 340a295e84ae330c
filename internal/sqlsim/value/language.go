package value

import "strings"

// Language is a language of a session: what SET LANGUAGE implies for dates. Messages are
// in English whatever it is.
type Language struct {
	ID         int
	Name       string
	Alias      string
	DateFormat string
	DateFirst  int
	LCID       int
	Months     [12]string
	Short      [12]string
	Days       [7]string // from Monday
}

var (
	englishMonths = months("January February March April May June July August September October November December")
	englishShort  = months("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
	englishDays   = days("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
)

// Languages are those that SET LANGUAGE knows, by id.
var Languages = []*Language{
	{0, "us_english", "English", "mdy", 7, 1033, englishMonths, englishShort, englishDays},
	{1, "Deutsch", "German", "dmy", 1, 1031,
		months("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		months("Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez"),
		days("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag")},
	{2, "Français", "French", "dmy", 1, 1036,
		months("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		months("janv févr mars avr mai juin juil août sept oct nov déc"),
		days("lundi mardi mercredi jeudi vendredi samedi dimanche")},
	{4, "Dansk", "Danish", "dmy", 1, 1030,
		months("januar februar marts april maj juni juli august september oktober november december"),
		months("jan feb mar apr maj jun jul aug sep okt nov dec"),
		days("mandag tirsdag onsdag torsdag fredag lørdag søndag")},
	{5, "Español", "Spanish", "dmy", 1, 3082,
		months("Enero Febrero Marzo Abril Mayo Junio Julio Agosto Septiembre Octubre Noviembre Diciembre"),
		months("Ene Feb Mar Abr May Jun Jul Ago Sep Oct Nov Dic"),
		days("Lunes Martes Miércoles Jueves Viernes Sábado Domingo")},
	{6, "Italiano", "Italian", "dmy", 1, 1040,
		months("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		months("gen feb mar apr mag giu lug ago set ott nov dic"),
		days("lunedì martedì mercoledì giovedì venerdì sabato domenica")},
	{7, "Nederlands", "Dutch", "dmy", 1, 1043,
		months("januari februari maart april mei juni juli augustus september oktober november december"),
		months("jan feb mrt apr mei jun jul aug sep okt nov dec"),
		days("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag")},
	{8, "Norsk", "Norwegian", "dmy", 1, 2068,
		months("januar februar mars april mai juni juli august september oktober november desember"),
		months("jan feb mar apr mai jun jul aug sep okt nov des"),
		days("mandag tirsdag onsdag torsdag fredag lørdag søndag")},
	{9, "Português", "Portuguese", "dmy", 7, 2070,
		months("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
		months("jan fev mar abr mai jun jul ago set out nov dez"),
		days("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo")},
	{10, "Suomi", "Finnish", "dmy", 1, 1035,
		months("tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta"),
		months("tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu"),
		days("maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai")},
	{11, "Svenska", "Swedish", "ymd", 1, 1053,
		months("januari februari mars april maj juni juli augusti september oktober november december"),
		months("jan feb mar apr maj jun jul aug sep okt nov dec"),
		days("måndag tisdag onsdag torsdag fredag lördag söndag")},
	{14, "polski", "Polish", "dmy", 1, 1045,
		months("styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień"),
		months("I II III IV V VI VII VIII IX X XI XII"),
		days("poniedziałek wtorek środa czwartek piątek sobota niedziela")},
	{23, "British", "British English", "dmy", 1, 2057, englishMonths, englishShort, englishDays},
	{27, "Português (Brasil)", "Brazilian", "dmy", 7, 1046,
		months("Janeiro Fevereiro Março Abril Maio Junho Julho Agosto Setembro Outubro Novembro Dezembro"),
		months("Jan Fev Mar Abr Mai Jun Jul Ago Set Out Nov Dez"),
		days("Segunda-Feira Terça-Feira Quarta-Feira Quinta-Feira Sexta-Feira Sábado Domingo")},
}

func months(list string) [12]string { return [12]string(strings.Fields(list)) }
func days(list string) [7]string    { return [7]string(strings.Fields(list)) }

// LanguageByName finds a language by its name or alias; nil if there is none.
func LanguageByName(name string) *Language {
	for _, l := range Languages {
		if strings.EqualFold(l.Name, name) || strings.EqualFold(l.Alias, name) {
			return l
		}
	}
	return nil
}

// language is that of an environment, us_english by default.
func (e ConvertEnv) language() *Language {
	if e.Language != nil {
		return e.Language
	}
	return Languages[0]
}

// month is the number of the month that a word names, 0 for none.
func (l *Language) month(word string) int {
	for i := range l.Months {
		if strings.EqualFold(word, l.Months[i]) || strings.EqualFold(word, l.Short[i]) {
			return i + 1
		}
	}
	return 0
}
