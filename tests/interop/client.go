// Go's net/http against a server: client URL TOKEN.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"time"
)

const (
	octets = "application/octet-stream"
	asJSON = "application/json"
)

var (
	url, token  = os.Args[1], os.Args[2]
	client      = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 20 * time.Second}, Timeout: time.Minute}
	big         = bytes.Repeat([]byte("any content "), 5*1024*1024/12)
	connections = 0
	continued   = 0
)

func main() {
	oneConnection()
	expectContinue()
	framesAsTheyCome()
}

func must(ok bool, what ...any) {
	if !ok {
		fmt.Fprintln(os.Stderr, what...)
		os.Exit(1)
	}
}

func send(method, path, media string, body io.Reader, authorized, expect bool) *http.Response {
	request, err := http.NewRequest(method, url+path, body)
	must(err == nil, err)
	if authorized {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if media != "" {
		request.Header.Set("Content-Type", media)
	}
	if expect {
		request.Header.Set("Expect", "100-continue")
	}
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				connections++
			}
		},
		Got100Continue: func() { continued++ },
	}
	reply, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	must(err == nil, err)
	return reply
}

func read(reply *http.Response, status int) []byte {
	data, err := io.ReadAll(reply.Body)
	reply.Body.Close()
	must(err == nil && reply.StatusCode == status, reply.Request.Method, reply.Request.URL, reply.Status, string(data), err)
	return data
}

func call(method, path, media string, body io.Reader, status int) []byte {
	return read(send(method, path, media, body, true, false), status)
}

func refused(code, method, path string, status int) {
	var reply struct{ Error struct{ Code string } }
	err := json.Unmarshal(call(method, path, "", nil, status), &reply)
	must(err == nil && reply.Error.Code == code, path, reply, err)
}

func oneConnection() {
	must(strings.HasPrefix(string(call("GET", "/v1/info", "", nil, 200)), `{"wire":1,`), "info")
	call("PUT", "/v1/fs/file?path=go/big", octets, bytes.NewReader(big), 204)
	must(sha256.Sum256(call("GET", "/v1/fs/file?path=go/big", "", nil, 200)) == sha256.Sum256(big), "the content differs")
	// A reader whose length nobody knows is sent in chunks.
	call("PUT", "/v1/fs/file?path=go/small", octets, io.MultiReader(strings.NewReader("in a few "), strings.NewReader("pieces")), 204)
	must(string(call("GET", "/v1/fs/file?path=go/small", "", nil, 200)) == "in a few pieces", "the chunked content differs")
	head := send("HEAD", "/v1/fs/file?path=go/small", "", nil, true, false)
	must(len(read(head, 200)) == 0 && head.ContentLength == 15, "HEAD", head.ContentLength)
	refused("not_exist", "GET", "/v1/fs/stat?path=go/none", 404)
	refused("invalid", "GET", "/v1/fs/stat?path=go/../x", 400)
	refused("unsupported", "DELETE", "/v1/info", 405)
	output := call("POST", "/v1/exec", asJSON, strings.NewReader(`{"args":["echo","hi"]}`), 200)
	must(string(output) == `{"output":{"stdout":"aGkK","exitCode":0}}`+"\n", string(output))
	must(connections == 1, connections, "connections")
}

func expectContinue() {
	reply := send("PUT", "/v1/fs/file?path=go/expected", octets, bytes.NewReader(big), true, true)
	read(reply, 204)
	must(continued == 1, "no 100 before the body")
	reply = send("PUT", "/v1/fs/file?path=go/no", octets, bytes.NewReader(big), false, true)
	read(reply, 401)
	must(continued == 1, "a body was asked for that nobody wants")
}

func framesAsTheyCome() {
	// The command goes on only once its first line was seen here.
	command := `{"args":["sh","-c","echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"],"dir":"go","stream":true,"timeoutMs":20000}`
	reply := send("POST", "/v1/exec", asJSON, strings.NewReader(command), true, false)
	must(reply.StatusCode == 200 && reply.Header.Get("Content-Type") == "application/x-ndjson", reply.Status)
	var lines []string
	for scanner := bufio.NewScanner(reply.Body); scanner.Scan(); {
		if lines = append(lines, scanner.Text()); len(lines) == 1 {
			call("PUT", "/v1/fs/file?path=go/go", octets, nil, 204)
		}
	}
	want := []string{`{"data":"Zmlyc3QK"}`, `{"data":"c2Vjb25kCg=="}`, `{"output":{"exitCode":0}}`}
	must(strings.Join(lines, "\n") == strings.Join(want, "\n"), lines)
}
