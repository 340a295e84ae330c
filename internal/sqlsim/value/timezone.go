package value

import (
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // AT TIME ZONE must not depend on the machine
)

// windowsZones maps the names that SQL Server knows to those of the time zone database.
var windowsZones = map[string]string{
	"Dateline Standard Time": "Etc/GMT+12", "UTC-11": "Etc/GMT+11", "Hawaiian Standard Time": "Pacific/Honolulu",
	"Alaskan Standard Time": "America/Anchorage", "Pacific Standard Time": "America/Los_Angeles",
	"US Mountain Standard Time": "America/Phoenix", "Mountain Standard Time": "America/Denver",
	"Central America Standard Time": "America/Guatemala", "Central Standard Time": "America/Chicago",
	"Central Standard Time (Mexico)": "America/Mexico_City", "Canada Central Standard Time": "America/Regina",
	"SA Pacific Standard Time": "America/Bogota", "Eastern Standard Time": "America/New_York",
	"US Eastern Standard Time": "America/Indiana/Indianapolis", "Venezuela Standard Time": "America/Caracas",
	"Atlantic Standard Time": "America/Halifax", "Pacific SA Standard Time": "America/Santiago",
	"Newfoundland Standard Time": "America/St_Johns", "E. South America Standard Time": "America/Sao_Paulo",
	"Argentina Standard Time": "America/Argentina/Buenos_Aires", "Greenland Standard Time": "America/Nuuk",
	"UTC-02": "Etc/GMT+2", "Azores Standard Time": "Atlantic/Azores", "Cape Verde Standard Time": "Atlantic/Cape_Verde",
	"UTC": "Etc/UTC", "GMT Standard Time": "Europe/London", "Greenwich Standard Time": "Atlantic/Reykjavik",
	"Morocco Standard Time": "Africa/Casablanca", "W. Europe Standard Time": "Europe/Berlin",
	"Central Europe Standard Time": "Europe/Budapest", "Romance Standard Time": "Europe/Paris",
	"Central European Standard Time": "Europe/Warsaw", "W. Central Africa Standard Time": "Africa/Lagos",
	"GTB Standard Time": "Europe/Bucharest", "Middle East Standard Time": "Asia/Beirut", "Egypt Standard Time": "Africa/Cairo",
	"South Africa Standard Time": "Africa/Johannesburg", "FLE Standard Time": "Europe/Kyiv", "Israel Standard Time": "Asia/Jerusalem",
	"Turkey Standard Time": "Europe/Istanbul", "Arabic Standard Time": "Asia/Baghdad", "Arab Standard Time": "Asia/Riyadh",
	"Belarus Standard Time": "Europe/Minsk", "Russian Standard Time": "Europe/Moscow", "E. Africa Standard Time": "Africa/Nairobi",
	"Iran Standard Time": "Asia/Tehran", "Arabian Standard Time": "Asia/Dubai", "Azerbaijan Standard Time": "Asia/Baku",
	"Georgian Standard Time": "Asia/Tbilisi", "Caucasus Standard Time": "Asia/Yerevan", "Afghanistan Standard Time": "Asia/Kabul",
	"West Asia Standard Time": "Asia/Tashkent", "Pakistan Standard Time": "Asia/Karachi", "India Standard Time": "Asia/Kolkata",
	"Sri Lanka Standard Time": "Asia/Colombo", "Nepal Standard Time": "Asia/Kathmandu", "Central Asia Standard Time": "Asia/Almaty",
	"Bangladesh Standard Time": "Asia/Dhaka", "Myanmar Standard Time": "Asia/Yangon", "SE Asia Standard Time": "Asia/Bangkok",
	"China Standard Time": "Asia/Shanghai", "Singapore Standard Time": "Asia/Singapore", "W. Australia Standard Time": "Australia/Perth",
	"Taipei Standard Time": "Asia/Taipei", "Tokyo Standard Time": "Asia/Tokyo", "Korea Standard Time": "Asia/Seoul",
	"Cen. Australia Standard Time": "Australia/Adelaide", "AUS Central Standard Time": "Australia/Darwin",
	"E. Australia Standard Time": "Australia/Brisbane", "AUS Eastern Standard Time": "Australia/Sydney",
	"Tasmania Standard Time": "Australia/Hobart", "Vladivostok Standard Time": "Asia/Vladivostok",
	"Central Pacific Standard Time": "Pacific/Guadalcanal", "New Zealand Standard Time": "Pacific/Auckland",
	"UTC+12": "Etc/GMT-12", "Fiji Standard Time": "Pacific/Fiji", "Tonga Standard Time": "Pacific/Tongatapu", "Samoa Standard Time": "Pacific/Apia",
}

// TimeZoneNames lists the zones that AT TIME ZONE knows, as sys.time_zone_info does.
func TimeZoneNames() []string {
	names := make([]string, 0, len(windowsZones))
	for n := range windowsZones {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// TimeZone finds a zone by its Windows name; an unknown one is error 9820.
func TimeZone(name string) (*time.Location, error) {
	for n, iana := range windowsZones {
		if strings.EqualFold(n, TrimSpaces(name)) {
			return time.LoadLocation(iana)
		}
	}
	return nil, NewError(9820, 16, 1, "The time zone parameter '%s' provided to AT TIME ZONE clause is invalid.", name)
}

// AtTimeZone is v AT TIME ZONE loc. A datetimeoffset is shown in the zone; another
// date and time is taken to be in the zone. In the hour that the clock skips, the
// result is moved on; in the hour that comes twice, it is the first of the two.
func AtTimeZone(v Value, loc *time.Location) (Value, error) {
	if v.null {
		return NewNull(DateTimeOffset), nil
	}
	scale := v.scale
	switch v.kind {
	case DateTime:
		scale = 3
	case SmallDateTime:
		scale = 0
	case DateTime2, DateTimeOffset:
	default:
		return Value{}, NewError(8116, 16, 1, "Argument data type %s is invalid for argument 1 of AT TIME ZONE function.", errName(v.kind))
	}
	utc := v.Ticks()
	if v.kind != DateTimeOffset {
		t := v.Time()
		_, before := t.Add(-26 * time.Hour).In(loc).Zone()
		_, after := t.Add(26 * time.Hour).In(loc).Zone()
		// The offset before a change holds as long as the clock has not been changed.
		for _, off := range []int{before, after} {
			if _, real := t.Add(-time.Duration(off) * time.Second).In(loc).Zone(); real == off {
				before = off
				break
			}
		}
		utc -= int64(before) * TicksPerSecond
	}
	if utc < 0 || utc > maxTicks {
		return Value{}, NewError(9813, 16, 1, "The timezone provided to builtin function AT TIME ZONE would cause the datetimeoffset to overflow the range of valid date range in either UTC or local time.")
	}
	_, off := Value{kind: DateTime2, n: utc}.Time().In(loc).Zone()
	return NewDateTimeOffset(utc, off/60, scale), nil
}
