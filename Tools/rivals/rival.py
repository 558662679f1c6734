# The rivals' side of Tools/benchmark-rivals: rival.py NAME PLAN FOLDER. Each line of the input is a request, and its
# reply is a line of the output. When the input ends, the store is closed.
import importlib
import json
import sys
import time

name, plan, folder = sys.argv[1:]
with open(plan) as file:
    store = importlib.import_module(f"{name.lower()}_rival").Rival(json.load(file), folder)
is_open = False
for line in sys.stdin:
    request = json.loads(line)
    work = request["work"].replace("-", "_")
    if not is_open and work != "first":
        store.open()
    is_open = True
    run, lines = getattr(store, work), getattr(store, f"{work}_lines", None)
    start = time.perf_counter()
    results = [run(*call) for call in request["calls"]]
    seconds = time.perf_counter() - start
    answer = [line for result in results for line in lines(result)] if lines else []
    print(json.dumps({"seconds": seconds, "answer": answer}), flush=True)
store.close()
