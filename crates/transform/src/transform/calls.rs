//! Calls and lists of a transformed service.

use std::{future::ready, sync::Arc};

use couplet_core::{
    BoxFuture, Call, Caller, JsonText, Reply, Sender, Service, Wrap, http::headers::ParamHeader, message::Params,
};
use couplet_types::{RequestMethod, RpcError};

use super::{Rules, Transform};
use crate::{
    errors::{self, Renames, absent},
    list::{self, Listing, PROMPTS, RESOURCES, TEMPLATES, TOOLS},
    names::{Named, Names, Renamed},
};

impl Wrap for Transform {
    fn inner(&self) -> &Arc<dyn Service> {
        &self.service
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        use RequestMethod as M;
        match call.known() {
            Some(M::CallTool) => self.call_tool(call),
            Some(M::GetPrompt) => self.get_prompt(call),
            Some(M::ReadResource) => self.read(call),
            Some(M::Complete) => self.complete(call),
            Some(M::ListTools) => self.list(call, TOOLS, Rules::listed_tool),
            Some(M::ListPrompts) => self.list(call, PROMPTS, Rules::listed_prompt),
            Some(M::ListResources) => self.list(call, RESOURCES, Rules::listed_resource),
            Some(M::ListResourceTemplates) => self.list(call, TEMPLATES, Rules::listed_resource),
            _ => self.service.call(call),
        }
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let named = self.rules.tools.find(tool)?;
        let own = self.service.header_params(named.own());
        match self.rules.tool_changes.get(named.own()) {
            Some(change) => change.header_params(own),
            None => own,
        }
    }

    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        match RequestMethod::from_name(method) {
            Some(RequestMethod::CallTool) => {
                self.service.required_scopes(method, &named_inside(&self.rules.tools, params)?, sender)
            }
            Some(RequestMethod::GetPrompt) => {
                self.service.required_scopes(method, &named_inside(&self.rules.prompts, params)?, sender)
            }
            Some(RequestMethod::Complete) => {
                let inside = self.rules.reference_inside(params).ok()?;
                self.service.required_scopes(method, inside.as_ref().unwrap_or(params), sender)
            }
            _ => self.service.required_scopes(method, params, sender),
        }
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.rules.uris.shows(uri) && self.service.has_resource(uri)
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.rules.uris.shows(uri) && self.service.may_subscribe(uri, caller)
    }
}

type Listed = fn(&Rules, &Call, &str, Params) -> Option<Params>;

impl Transform {
    fn list(&self, call: Call, listing: Listing, item: Listed) -> BoxFuture<'static, Reply> {
        let (service, rules, about) = (self.service.clone(), self.rules.clone(), call.clone());
        Box::pin(list::map(service, call, listing, move |name, params| item(&rules, &about, name, params)))
    }

    fn call_tool(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        let rules = &self.rules;
        let Ok(Some(name)) = call.params.read_str("name") else { return self.service.call(call) };
        let Some(named) = rules.tools.find(&name) else { return refuse(absent("tool", &name)) };
        let change = rules.tool_changes.get(named.own());
        let arguments = match change.map_or(Ok(None), |change| change.arguments(&call)) {
            Ok(arguments) => arguments,
            Err(what) => return Box::pin(ready(Reply::wrong_arguments(&call, what))),
        };
        let renamed = match named {
            Named::Other(renamed) => Some(renamed.clone()),
            Named::Same(_) if change.is_none() && rules.tools.are_same() => return self.service.call(call),
            Named::Same(_) => None,
        };
        drop(name);
        if let Err(error) = prepare(&mut call, arguments, renamed.as_deref()) {
            return refuse(error);
        }
        let (running, rules, change) = (self.service.call(call), rules.clone(), change.cloned());
        Box::pin(async move {
            let reply = running.await;
            let reply = match change {
                Some(change) => change.reply(reply),
                None => reply,
            };
            outward(reply, &rules.tools, renamed.as_deref())
        })
    }

    fn get_prompt(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        let rules = &self.rules;
        let Ok(Some(name)) = call.params.read_str("name") else { return self.service.call(call) };
        let renamed = match rules.prompts.find(&name) {
            None => return refuse(absent("prompt", &name)),
            Some(Named::Other(renamed)) => Some(renamed.clone()),
            Some(Named::Same(_)) if rules.prompts.are_same() => return self.service.call(call),
            Some(Named::Same(_)) => None,
        };
        drop(name);
        if let Err(error) = prepare(&mut call, None, renamed.as_deref()) {
            return refuse(error);
        }
        let (running, rules) = (self.service.call(call), rules.clone());
        Box::pin(async move { outward(running.await, &rules.prompts, renamed.as_deref()) })
    }

    fn read(&self, call: Call) -> BoxFuture<'static, Reply> {
        match call.params.read_str("uri") {
            Ok(Some(uri)) if !self.rules.uris.shows(&uri) => refuse(call.revision.resource_not_found(&uri)),
            _ => self.service.call(call),
        }
    }

    fn complete(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        match self.rules.reference_inside(&call.params) {
            Ok(Some(params)) => call.params = params,
            Ok(None) => {}
            Err(error) => return refuse(error),
        }
        let (running, rules) = (self.service.call(call), self.rules.clone());
        Box::pin(async move { outward(running.await, &rules.prompts, None) })
    }
}

impl Rules {
    fn listed_tool(&self, call: &Call, name: &str, tool: Params) -> Option<Params> {
        let tool = named_outside(&self.tools, name, tool)?;
        match self.tool_changes.get(name) {
            Some(change) => change.definition(tool, call.revision).ok(),
            None => Some(tool),
        }
    }

    fn listed_prompt(&self, call: &Call, name: &str, prompt: Params) -> Option<Params> {
        let prompt = named_outside(&self.prompts, name, prompt)?;
        match self.prompt_texts.get(name) {
            Some(texts) => texts.definition(prompt, call.revision).ok(),
            None => Some(prompt),
        }
    }

    fn listed_resource(&self, call: &Call, uri: &str, resource: Params) -> Option<Params> {
        match (self.uris.shows(uri), self.uri_texts.get(uri)) {
            (false, _) => None,
            (true, Some(texts)) => texts.definition(resource, call.revision).ok(),
            (true, None) => Some(resource),
        }
    }

    /// The parameters of a completion with the name inside; `None` if that is the same.
    ///
    /// # Errors
    /// If the prompt or the template does not exist outside.
    fn reference_inside(&self, params: &Params) -> Result<Option<Params>, RpcError> {
        if self.prompts.are_same() && self.uris.are_all() {
            return Ok(None);
        }
        let Some(Ok(target)) = params.get("ref").map(Params::from_text) else { return Ok(None) };
        if let Ok(Some(uri)) = target.read_str("uri")
            && !self.uris.shows(&uri)
        {
            return Err(absent("resource template", &uri));
        }
        let Ok(Some(name)) = target.read_str("name") else { return Ok(None) };
        match self.prompts.find(&name) {
            None => Err(absent("prompt", &name)),
            Some(Named::Same(_)) => Ok(None),
            Some(Named::Other(renamed)) => {
                let inside = target.with("name", &renamed.text).and_then(|target| params.with("ref", target.text()));
                inside.map(Some).map_err(|fault| RpcError::invalid_params(fault.to_string()))
            }
        }
    }
}

fn refuse(error: RpcError) -> BoxFuture<'static, Reply> {
    Box::pin(ready(Reply::Error(error)))
}

/// Sets the arguments and the name that the service knows.
fn prepare(call: &mut Call, arguments: Option<Params>, renamed: Option<&Renamed>) -> Result<(), RpcError> {
    if let Some(arguments) = arguments {
        call.params = arguments;
    }
    if let Some(renamed) = renamed {
        let named = call.params.with("name", &renamed.text);
        call.params = named.map_err(|fault| RpcError::invalid_params(fault.to_string()))?;
    }
    Ok(())
}

/// The reply with the names that the caller knows.
fn outward(reply: Reply, names: &Names, other: Option<&Renamed>) -> Reply {
    let renames: Renames<'_> = other.iter().map(|other| (&*other.own, &*other.exposed)).collect();
    errors::outward(reply, &renames, |name| names.exposed(name).map(str::to_owned))
}

/// The definition of an item under the name outside; `None` if it does not exist there.
fn named_outside(names: &Names, own: &str, item: Params) -> Option<Params> {
    match names.exposed(own)? {
        exposed if exposed == own => Some(item),
        exposed => item.with("name", &JsonText::string(exposed)).ok(),
    }
}

/// The parameters with the name inside; `None` if the name does not exist.
fn named_inside(names: &Names, params: &Params) -> Option<Params> {
    let name = params.read_str("name").ok()??;
    match names.find(&name)? {
        Named::Same(_) => Some(params.clone()),
        Named::Other(renamed) => params.with("name", &renamed.text).ok(),
    }
}
