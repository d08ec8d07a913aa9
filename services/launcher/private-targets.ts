import * as z from "zod";

import type { Address, ConfigSources, SettingsTable } from "../kit/config/config.ts";
import { flagName, loadConfig } from "../kit/config/config.ts";
import { isLoopback } from "../kit/config/loopback.ts";
import type { ProcessName } from "./processes.ts";
import { processes, processNames } from "./processes.ts";
import { gatewaySettings, installation, refactoringWorkspaceSettings } from "./settings.ts";

/** Where a process is configured to listen, by the names of the settings. Throws ConfigError. */
export const listenAddresses = (name: ProcessName, sources: ConfigSources): Readonly<Record<string, Address>> => {
  const names = Object.values(processes[name].listeners).map(({ setting }) => setting);
  const config: Readonly<Record<string, unknown>> = loadConfig(installation, name, settingsOf(name), sources);
  return Object.fromEntries(names.map((setting) => [setting, config[setting] as Address]));
};

/**
 * The flag that says whether requests of a process may go to private addresses; empty where the process has no such
 * setting, or has been configured. They may while no other machine can call the installation: then whoever causes such
 * a request could as well make it. Throws ConfigError.
 */
export const privateTargetsArguments = (name: ProcessName, sources: ConfigSources): readonly string[] => {
  const setting = settingsOf(name)[settingName];
  if (!(setting instanceof z.ZodDefault)) return [];
  const unless = { [settingName]: z.optional(setting.unwrap() as z.ZodType) };
  if (loadConfig(installation, name, unless, sources)[settingName] !== undefined) return [];
  return [`--${flagName(settingName)}=${isCalledFromElsewhere(sources) ? "refuse" : "allow"}`];
};

const settingName = "privateTargets";
const settingsOf = (name: ProcessName): SettingsTable => installation.processes[name];

/**
 * Whether a listener is not on loopback, or has a name there for callers elsewhere, as it has when another server
 * forwards to it, or such servers are named.
 */
const isCalledFromElsewhere = (sources: ConfigSources): boolean => {
  const hosts = processNames.flatMap((name) => Object.values(listenAddresses(name, sources)).map(({ host }) => host));
  const gateway = loadConfig(installation, "gateway", { hosts: gatewaySettings.hosts }, sources);
  if (gateway.trustedProxies.length > 0) return true;
  const { proxyUrl } = refactoringWorkspaceSettings;
  const workspace = loadConfig(installation, "refactoring-workspace", { proxyUrl }, sources);
  return ![...hosts, ...gateway.hosts, ...hostsOf(workspace.proxyUrl)].every(isOfThisMachine);
};

const hostsOf = (url: string): readonly string[] => {
  if (url === "") return [];
  return URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, "")] : [url];
};

/** Every name under localhost is of this machine (RFC 6761). */
const isOfThisMachine = (host: string): boolean => isLoopback(host) || host.toLowerCase().endsWith(".localhost");
