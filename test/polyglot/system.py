"""A whole system of five processes on free ports and a temporary directory."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 20


class System:
    """Runs from construction until `stop`; `urls` are by process name, `gateway` among them."""

    def __init__(self, configuration: dict | None = None) -> None:
        """`configuration` is what quartet.json holds; without it there is none."""
        self.data_directory = tempfile.mkdtemp(prefix="quartet-polyglot-")
        arguments = []
        if configuration is not None:
            path = pathlib.Path(self.data_directory) / "quartet.json"
            path.write_text(json.dumps(configuration))
            arguments = [f"--config={path}"]
        self.urls: dict[str, str] = {}
        self.output: list[str] = []
        self._environment = {
            **os.environ,
            "PATH": f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}",
            "QUARTET_DATA_DIR": self.data_directory,
            "QUARTET_LOG_LEVEL": "info",
            "QUARTET_LOG_PRETTY": "0",
        }
        self._process = subprocess.Popen(
            ["node", "services/launch.ts", "--free-ports", *arguments],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._is_ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._is_ready.wait(START_SECONDS_MAX) or "gateway" not in self.urls:
            self.stop()
            raise RuntimeError("the system did not start:\n" + "\n".join(self.output[-50:]))

    def token(self, account: str = "000000000000") -> str:
        """What `npm run token` prints."""
        command = ["node", "services/launcher/token.ts", "--account", account]
        finished = subprocess.run(command, cwd=ROOT, env=self._environment, check=True, capture_output=True, text=True)
        return finished.stdout.strip()

    def credentials(self) -> dict[str, str]:
        """The access key that the first start has made."""
        [path] = pathlib.Path(self.data_directory).rglob("credentials.json")
        return json.loads(path.read_text())["accessKeys"][0]

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(STOP_SECONDS_MAX)
        shutil.rmtree(self.data_directory, ignore_errors=True)

    def _read(self) -> None:
        """Each process logs where it listens; the launcher's line comes when all are healthy."""
        for line in self._process.stdout:
            self.output.append(line.rstrip())
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("msg") == "ready" and "rpc" in entry:
                self.urls[entry["name"]] = entry["rpc"]
            if entry.get("msg") == "ready" and "grpc" in entry:
                self.urls["all"] = entry["grpc"]
                self.urls["admin"] = entry["admin"]
            if "gatewayUrl" in entry:
                self.urls["gateway"] = entry["gatewayUrl"]
                self._is_ready.set()
        self._is_ready.set()
