//! What a library says of itself, learnt without trusting it and without starting it.

use std::path::Path;
use std::sync::Arc;

use codemode_plugin_api::Json;
use codemode_plugin_api::descriptor::{CallKind, CapabilityDescriptor, Descriptor};
use serde::Serialize;
use serde_json::Value;

use super::image::Image;
use super::{Exposure, Reason, probe};
use crate::capability::catalog::{Catalog, CatalogFault, Description, Registration};
use crate::origin::Hash;

/// A library, looked at from outside.
#[derive(Debug, Serialize)]
pub struct Inspection {
    pub sha256: Hash,
    pub abi: u32,
    /// The package that it was built from.
    pub package: String,
    pub version: String,
    pub summary: String,
    pub namespace_configurable: bool,
    pub operations: Vec<String>,
    /// The JSON Schema of an instance's settings.
    pub settings: Value,
    pub capabilities: Vec<Offer>,
    /// Why a daemon would not load it from where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposed: Option<String>,
    /// Why a daemon would not serve what it offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// One capability, with its schemas.
#[derive(Debug, Serialize)]
pub struct Offer {
    pub name: String,
    pub id: String,
    pub kind: CallKind,
    pub search_terms: Vec<String>,
    pub input_schema: Json,
    pub output_schema: Json,
    /// What an agent would read; nothing where a daemon would refuse it.
    pub described: Option<Description>,
}

impl Inspection {
    /// Looks at a library, in a child process of `executable`. Blocks for as long as that takes, ten seconds at most.
    ///
    /// # Errors
    /// Why it says nothing of itself.
    pub fn of(path: &Path, executable: &Path) -> Result<Self, Vec<Reason>> {
        let (image, exposed) = Image::of_anyones(path).map_err(|reason| vec![reason])?;
        let descriptor = probe::inspect(executable, &image)
            .map_err(|refusals| refusals.into_iter().map(|refusal| refusal.reason).collect::<Vec<_>>())?;
        Ok(Self::assemble(path, descriptor, Hash(*image.digest()), exposed))
    }

    fn assemble(path: &Path, descriptor: Descriptor, sha256: Hash, exposed: Option<Exposure>) -> Self {
        let (plugin, library): (Arc<str>, Arc<str>) = (descriptor.name.as_str().into(), path.to_string_lossy().into());
        let register = |offer: &CapabilityDescriptor| Registration::new(&plugin, &library, offer.clone());
        let built = Catalog::build(descriptor.capabilities.iter().map(register).collect(), &[]);
        let capabilities = descriptor
            .capabilities
            .iter()
            .map(|offer| {
                let described = match &built {
                    Ok(catalog) => catalog.describe(&offer.name),
                    // By itself it may be sound.
                    Err(_) => Catalog::build(vec![register(offer)], &[])
                        .ok()
                        .and_then(|catalog| catalog.describe(&offer.name)),
                };
                Offer::new(offer, described)
            })
            .collect();
        let faults = built.err().unwrap_or_default();
        Self {
            sha256,
            abi: descriptor.abi,
            package: descriptor.name,
            version: descriptor.version,
            summary: descriptor.summary,
            namespace_configurable: descriptor.namespace_configurable,
            operations: descriptor.operations,
            settings: descriptor.settings,
            capabilities,
            exposed: exposed.map(|exposed| exposed.to_string()),
            faults: faults.iter().map(fault_text).collect(),
        }
    }
}

impl Offer {
    fn new(offer: &CapabilityDescriptor, described: Option<Description>) -> Self {
        Self {
            name: offer.name.clone(),
            id: offer.id.clone().unwrap_or_else(|| offer.name.clone()),
            kind: offer.kind,
            search_terms: offer.search_terms.clone(),
            input_schema: offer.input.clone(),
            output_schema: offer.output.clone(),
            described,
        }
    }
}

/// Without the library, which whoever asks has just named.
fn fault_text(fault: &CatalogFault) -> String {
    match fault {
        CatalogFault::Registration { origin, problem } => format!("capability `{}`: {problem}", origin.name),
        CatalogFault::UnknownDisabled { .. } | CatalogFault::TooMany { .. } => fault.to_string(),
    }
}
