// Command lua-health runs a health script as Argo CD does: on its Lua engine, with the object as the global obj.
//
//	lua-health SCRIPT < objects
//
// Standard input is a JSON list of objects; standard output is a JSON list of what the script says about each.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	script, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var objects []any
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(objects))
	for _, object := range objects {
		said, err := judge(string(script), object)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, said)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

// judge gives the script no library that reaches beyond it.
func judge(script string, object any) (verdict, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return verdict{}, err
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return verdict{}, fmt.Errorf("the script returned no table")
	}
	text := func(name string) string { return lua.LVAsString(answer.RawGetString(name)) }
	return verdict{Status: text("status"), Message: text("message")}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case string:
		return lua.LString(value)
	case float64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	case []any:
		list := state.NewTable()
		for _, each := range value {
			list.Append(toLua(state, each))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for name, each := range value {
			table.RawSetString(name, toLua(state, each))
		}
		return table
	default:
		return lua.LNil
	}
}
