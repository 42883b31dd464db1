// SPDX-License-Identifier: BSD-2-Clause

// otlpfold receives profiles by OTLP (gRPC) and counts stacks. It is built inside the module of OTel's
// ebpf-profiler, whose dependencies it has (scripts/rivals).
//
// usage: otlpfold ADDRESS OUT; writes OUT at SIGINT or SIGTERM:
//
//	# bytes N                       what has come, as it was sent
//	# pid PID FIRST LAST            nanoseconds: its first and last sample
//	PID;FRAME;...;FRAME COUNT       the root first; a frame is kind:name:file:line, or native:file+0xaddress
//
// OUT.seen has a line for each process by then, with its ID.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/stats"
)

type span struct{ first, last uint64 }

type receiver struct {
	pprofileotlp.UnimplementedGRPCServer
	mu     sync.Mutex
	stacks map[string]int
	spans  map[string]*span
	seen   *os.File
	bytes  int
}

func (r *receiver) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (r *receiver) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (r *receiver) HandleConn(context.Context, stats.ConnStats)                       {}

func (r *receiver) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		r.mu.Lock()
		r.bytes += in.WireLength
		r.mu.Unlock()
	}
}

// attribute returns the value of one of those that indices name.
func attribute(dict pprofile.ProfilesDictionary, indices pcommon.Int32Slice, key string) string {
	for i := 0; i < indices.Len(); i++ {
		a := dict.AttributeTable().At(int(indices.At(i)))
		if dict.StringTable().At(int(a.KeyStrindex())) == key {
			return a.Value().AsString()
		}
	}
	return ""
}

// frames appends what a location stands for, the root first.
func frames(dict pprofile.ProfilesDictionary, loc pprofile.Location, out []string) []string {
	text := func(i int32) string { return dict.StringTable().At(int(i)) }
	kind := attribute(dict, loc.AttributeIndices(), "profile.frame.type")
	if loc.Lines().Len() == 0 {
		file := ""
		if loc.MappingIndex() > 0 {
			file = text(dict.MappingTable().At(int(loc.MappingIndex())).FilenameStrindex())
		}
		return append(out, fmt.Sprintf("%s:%s+0x%x", kind, file, loc.Address()))
	}
	for i := loc.Lines().Len() - 1; i >= 0; i-- {
		line := loc.Lines().At(i)
		f := dict.FunctionTable().At(int(line.FunctionIndex()))
		out = append(out, fmt.Sprintf("%s:%s:%s:%d", kind, text(f.NameStrindex()), text(f.FilenameStrindex()),
			line.Line()))
	}
	return out
}

func (r *receiver) add(dict pprofile.ProfilesDictionary, pid string, sample pprofile.Sample) {
	if p := attribute(dict, sample.AttributeIndices(), "process.pid"); p != "" {
		pid = p
	}
	path := []string{pid}
	indices := dict.StackTable().At(int(sample.StackIndex())).LocationIndices()
	for i := indices.Len() - 1; i >= 0; i-- {
		path = frames(dict, dict.LocationTable().At(int(indices.At(i))), path)
	}
	times := sample.TimestampsUnixNano()
	r.stacks[strings.ReplaceAll(strings.Join(path, ";"), "\n", " ")] += times.Len()
	for i := 0; i < times.Len(); i++ {
		at := times.At(i)
		s := r.spans[pid]
		if s == nil {
			s = &span{at, at}
			r.spans[pid] = s
			fmt.Fprintln(r.seen, pid)
		}
		s.first, s.last = min(s.first, at), max(s.last, at)
	}
}

func (r *receiver) Export(_ context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	profiles := request.Profiles()
	dict := profiles.Dictionary()
	for _, resource := range profiles.ResourceProfiles().All() {
		pid := ""
		if value, ok := resource.Resource().Attributes().Get("process.pid"); ok {
			pid = value.AsString()
		}
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				for _, sample := range profile.Samples().All() {
					r.add(dict, pid, sample)
				}
			}
		}
	}
	return pprofileotlp.NewExportResponse(), nil
}

func (r *receiver) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintf(out, "# bytes %d\n", r.bytes)
	for pid, s := range r.spans {
		fmt.Fprintf(out, "# pid %s %d %d\n", pid, s.first, s.last)
	}
	for stack, count := range r.stacks {
		fmt.Fprintf(out, "%s %d\n", stack, count)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	seen, err := os.Create(os.Args[2] + ".seen")
	if err != nil {
		log.Fatal(err)
	}
	r := &receiver{stacks: map[string]int{}, spans: map[string]*span{}, seen: seen}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(256<<20), grpc.StatsHandler(r))
	pprofileotlp.RegisterGRPCServer(server, r)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	go func() { <-end; server.Stop() }()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
	r.mu.Lock()
	if err := r.write(os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
