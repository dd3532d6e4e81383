package debuginfod

import (
	"net/url"
	"os"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file reads the addresses of servers.

// Variable is the environment variable in which distributions list their servers.
const Variable = "DEBUGINFOD_URLS"

// FromEnvironment lists the servers in that variable. Words that are no addresses, such as
// ima:enforcing, are settings of other clients.
func FromEnvironment() ([]string, error) {
	var list []string
	for _, word := range strings.Fields(os.Getenv(Variable)) {
		if !strings.Contains(word, "://") {
			continue
		}
		u, err := Address(word)
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	if len(list) == 0 {
		return nil, diag.Errorf(diag.Usage, "option", "--debuginfod", "$%s names no server", Variable).
			WithHint("name one: --debuginfod=https://debuginfod.debian.net")
	}
	return list, nil
}

// Address checks and returns the address of a server.
func Address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", diag.Errorf(diag.Usage, "debuginfod", text, "not the address of a server").
			WithHint("write http://HOST:PORT, or https://debuginfod.debian.net")
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimRight(u.String(), "/"), nil
}

// HidePassword returns an address without its password.
func HidePassword(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return text
}
